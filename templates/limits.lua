-- Keys of limits that are not the client's address: txn.rates and txn.concurrents
-- hold limits, which plus signs separate, and each ends in its key after a colon
-- (router/model/rate.go):
--   =hNAME  a header      =cNAME  a cookie     =qNAME  a parameter of the URL
--   =o      the host      =n      no key       =aN     the address, of IPv6 N digits
-- NAME is in hexadecimal. The key of the Nth limit becomes txn.rate_clientN or
-- txn.concurrent_clientN. Where the request lacks what is asked for, there is none,
-- and HAProxy counts by the address. txn.limit_clients says that all went well.
--
-- After its key, a limit may have a colon and the requests that it is for:
--   =mGET,POST,e/login,p/api   methods, exact paths, and paths with all below them
-- Other requests do not count: the limit is empty for them.
local function percentDecoded(text)
  return (string.gsub(text, "%%(%x%x)", function(byte)
    return string.char(tonumber(byte, 16))
  end))
end

-- matchOf reads which requests a limit is for.
local function matchOf(text)
  local match = { methods = {}, paths = {} }
  for item in string.gmatch(text, "[^,]+") do
    local kind, path = string.match(item, "^([ep])(/.*)$")
    if kind == "e" then
      table.insert(match.paths, { exact = percentDecoded(path) })
    elseif kind then
      table.insert(match.paths, { below = (string.gsub(percentDecoded(path), "/+$", "")) })
    else
      match.methods[item], match.some = true, true
    end
  end
  return match
end

local limitsOf = remember(256 * 1024, function(text)
  local limits = {}
  for _, limit in ipairs(split(text, "+")) do
    local rest, match = string.match(limit, "^(.*):=m([^:]*)$")
    local kind, name = string.match(rest or limit, ":=(%l)(%w*)$")
    if kind == "h" or kind == "c" or kind == "q" then
      name = unhex(name)
    end
    limits[#limits + 1] = { text = limit, kind = kind, rest = name, match = match and matchOf(match) }
  end
  return limits
end)

-- normalPath returns the path as any program reads it, or nil if programs differ: as
-- match.Normal does.
local function normalPath(path)
  if not string.find(path, "[%%;\\]") and not string.find(path, "//", 1, true) and not string.find(path, "/.", 1, true) then
    return path
  end
  local lower = string.lower(path)
  local dots = string.gsub(lower, "%%2e", ".")
  if string.find(path, "//", 1, true) or string.find(path, "/;[^/]*/") or string.find(dots, "/;.", 1, true) or string.find(path, "\\", 1, true) then
    return nil
  end
  for segment in string.gmatch(dots, "[^/]+") do
    local name = string.match(segment, "^[^;]*")
    if name == "." or name == ".." then
      return nil
    end
  end
  for at in string.gmatch(lower, "()%%") do
    local digits = string.sub(lower, at + 1, at + 2)
    if not string.match(digits, "^[%da-f][%da-f]$") or string.match(digits, "^[01]") or digits == "2f" or digits == "3b" or digits == "5c" or digits == "7f"
      or digits == "c0" or digits == "c1" or digits == "25" and string.match(string.sub(lower, at + 3, at + 3), "[%da-f%%]") then
      return nil
    end
  end
  return percentDecoded((string.gsub(path, ";[^/]*", "")))
end

-- isFor reports whether a limit counts a request. The path is nil if programs read it in
-- different ways: then it may be any.
local function isFor(match, method, path)
  if match.some and not match.methods[method] then
    return false
  end
  if #match.paths == 0 or path == nil then
    return true
  end
  for _, p in ipairs(match.paths) do
    if p.exact == path then
      return true
    elseif p.below and string.sub(path, 1, #p.below) == p.below then
      local after = string.sub(path, #p.below + 1, #p.below + 1)
      if after == "" or after == "/" then
        return true
      end
    end
  end
  return false
end

-- leaveOut empties limits that are not for a request in a variable that has some.
local function leaveOut(txn, variable, limits)
  local texts, path, method, left, out = {}, nil, nil, false, false
  for n, limit in ipairs(limits) do
    texts[n] = limit.text
    if limit.match and not method then
      method, path = txn.f:method() or "", normalPath(txn.f:path() or "//")
    end
    if limit.match and not isFor(limit.match, method, path) then
      texts[n], out = "", true
    else
      left = left or limit.text ~= ""
    end
  end
  if not left then
    txn:unset_var(variable)
  elseif out then
    txn:set_var(variable, table.concat(texts, "+"))
  end
end

-- limitClient returns what counts in place of the address. A value has any length and any
-- bytes, so its hash stands for it.
local function limitClient(txn, key)
  if key.kind == "n" then
    return "="
  end
  if key.kind == "a" then
    local digits, address = string.match(txn:get_var("sess.client_key") or "", "^/(%d+)/(%x+)$")
    return "=a" .. (digits == "32" and string.sub(address, 1, tonumber(key.rest)) or address)
  end
  local value
  if key.kind == "o" then
    value = txn.c:host_only(txn:get_var("txn.host") or "")
  else
    value = valueOf[key.kind](txn, key.rest)
  end
  if value == nil or value == "" then
    return nil
  end
  return "=" .. key.kind .. txn.c:hex(txn.c:sha1(value))
end

core.register_action("fairlead_limit_clients", { "http-req" }, function(txn)
  for _, of in ipairs({ "rate", "concurrent" }) do
    local text = txn:get_var("txn." .. of .. "s")
    if text then
      local limits = limitsOf(text)
      leaveOut(txn, "txn." .. of .. "s", limits)
      for n, limit in ipairs(limits) do
        local value = limit.kind and limitClient(txn, limit)
        if value then
          txn:set_var("txn." .. of .. "_client" .. n, value)
        end
      end
    end
  end
  txn:set_var("txn.limit_clients", true)
end)

-- Limits by identity find out later what they count by, and only this now.
core.register_action("fairlead_limit_matches", { "http-req" }, function(txn)
  leaveOut(txn, "txn.identified", limitsOf(txn:get_var("txn.identified") or ""))
  txn:set_var("txn.limits_matched", true)
end)
