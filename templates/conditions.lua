-- Claims with conditions: the value of a routing key is a list of values, each with what
-- a request must have for it (router/match/list.go):
--   ?LEVEL KEY;CONDITION+...>LENGTH:VALUE...     without the blank
-- The first entry decides whose conditions are all met. If none is, the next shorter key
-- of the host does, and after all of them the keys of the wildcard host. Until then
-- txn.backend holds what leads nowhere, so a fault in here opens nothing.
local httpTable, httpsTable, _, suffixTable = ...
local suffixes = Map.new(suffixTable, Map._beg)
local tables = { http = Map.new(httpTable, Map._beg), https = Map.new(httpsTable, Map._beg) }

local function conditionsOf(text)
  local conditions = {}
  for source, compare, name, value, longest in string.gmatch(text, "(%l)(%l):(%x*):(%x*):?(%d*)") do
    local condition = { source = source, value = unhex(value), expression = compare == "r" }
    if source == "p" then
      condition.longest = tonumber(name)
    else
      condition.name, condition.longest = unhex(name), tonumber(longest) or 0
    end
    if condition.expression then
      local good, regex = Regex.new(condition.value, true)
      condition.regex = good and regex or nil
    end
    conditions[#conditions + 1] = condition
  end
  return conditions
end

local listOf = remember(1024 * 1024, function(text)
  local level, key, at = string.match(text, "^%?(%l)(%d+);()")
  local list = { level = level, key = tonumber(key), entries = {} }
  while at <= #text do
    local conditions, length, from = string.match(text, "^([^>]*)>(%d+):()", at)
    list.entries[#list.entries + 1] = { conditions = conditionsOf(conditions), value = string.sub(text, from, from + length - 1) }
    at = from + length
  end
  return list
end)

-- comparedPath is what expressions are compared with: the path as it is written, or where
-- it was normalised the decoded one.
local function comparedPath(txn)
  local normal = txn:get_var("txn.normal_path")
  return normal and txn.c:url_dec(normal) or txn:get_var("txn.path") or ""
end

-- compared reports whether a text is as an expression says, or what is answered instead where
-- that cannot be said: the text is too long, or HAProxy does not take the expression, which
-- package router/regex rules out.
local function compared(condition, text, tooLong)
  if #text > condition.longest then
    return false, tooLong
  elseif not condition.regex then
    return false, "!none"
  end
  return (condition.regex:match(text)) -- without the captures
end

-- meetsAll reports whether all conditions are met, or what is answered instead.
local function meetsAll(txn, conditions, seen)
  for at = 1, #conditions do
    local condition, met, instead = conditions[at], nil, nil
    if condition.source == "p" then
      seen.path = seen.path or comparedPath(txn)
      met, instead = compared(condition, seen.path, "!414")
    elseif condition.source == "m" then
      met = txn.f:method() == condition.value
    else
      local value = valueOf[condition.source](txn, condition.name)
      if value and condition.expression then
        met, instead = compared(condition, value, condition.source == "h" and "!431" or "!414")
      else
        met = value == condition.value
      end
    end
    if not met then
      return false, instead
    end
  end
  return true
end

-- decide returns the value of the first entry of a list that is met, or nil.
local function decide(txn, list, seen)
  for at = 1, #list.entries do
    local entry = list.entries[at]
    local met, instead = meetsAll(txn, entry.conditions, seen)
    if met or instead then
      return instead or entry.value
    end
  end
end

-- textOf returns what the first look-up of a level asked for. The host is what that took it
-- for, and the path what follows it there: as it is written, or normalised and encoded.
local function textOf(txn, level)
  local host, path, after = "*", txn:get_var("txn.normal_path"), "%2F#"
  if not path then
    path, after = txn:get_var("txn.path") or "", "/#"
  end
  if level ~= "a" then
    host = string.gsub(txn.c:host_only(txn:get_var("txn.host") or ""), "%.+$", "")
    if level == "w" then
      host = "*." .. (string.match(host, "^[^.]*%.(.*)$") or "")
    end
  end
  return host .. path .. after
end

-- shorter returns the value of the next shorter key of a list's level, and then that of the
-- wildcard host. seen has the length of the last list's key: each is shorter than that.
local function shorter(txn, keys, list, seen)
  local text = textOf(txn, list.level)
  if list.level ~= seen.level then
    seen.level, seen.left = list.level, #text
  end
  if list.key > seen.left then
    return "!none" -- no list of ours
  end
  seen.left = list.key - 1
  return keys:lookup(string.sub(text, 1, seen.left))
end

-- hostsOf returns the hosts of a scope that a request may be for, the most specific first:
-- its own, the wildcards that cover it (match.SuffixValue), and any.
local function hostsOf(txn, scope)
  local host = string.gsub(txn.c:host_only(txn:get_var("txn.host") or ""), "%.+$", "")
  local hosts, labels = { host }, {}
  for label in string.gmatch(host, "[^.]+") do
    table.insert(labels, 1, label)
  end
  local found = suffixes:lookup(scope .. table.concat(labels, ".", 1, math.min(#labels, 8)) .. "/")
  for suffix in string.gmatch(found or "", "[^|]+") do
    hosts[#hosts + 1] = suffix
  end
  hosts[#hosts + 1] = "*"
  return hosts
end

-- inScope looks a request up in the scope of a Gateway's listener (match.Tables.decideScoped).
local function inScope(txn, keys, scope)
  local seen, path, after = {}, txn:get_var("txn.normal_path"), "%2F#"
  if not path then
    path, after = txn:get_var("txn.path") or "", "/#"
  end
  for _, host in ipairs(hostsOf(txn, scope)) do
    local text = scope .. host .. path .. after
    local value, left = keys:lookup(text), #text
    while value and string.byte(value) == 63 do -- "?"
      local list = listOf(value)
      if list.key > left then
        return "!none" -- no list of ours
      end
      left = list.key - 1
      value = decide(txn, list, seen) or keys:lookup(string.sub(text, 1, left))
    end
    if value and value ~= "!miss" then
      return value
    end
  end
end

core.register_action("fairlead_conditions", { "http-req" }, function(txn, listener)
  local value, keys, seen = txn:get_var("txn.backend"), tables[listener], {}
  local scope = txn:get_var("txn.scope")
  txn:set_var("txn.backend", "!none")
  if scope then
    value = inScope(txn, keys, scope)
  end
  while value and string.byte(value) == 63 do -- "?"
    local list = listOf(value)
    value = decide(txn, list, seen)
    if value == nil then
      value = shorter(txn, keys, list, seen)
    end
    if list.level == "e" and (value == nil or value == "!miss") then
      value = keys:lookup(textOf(txn, "w"))
    end
  end
  if value and value ~= "!miss" then
    txn:set_var("txn.backend", value)
  end
end, 1)
