-- Canaries: txn.canary says which requests of a route go to other backends
-- (router/model/canary.go):
--   BACKEND*WEIGHT*ID+...;TOTAL;COOKIE:SECURE:MAXAGE;RULE+...
-- A rule is where to look (h header, c cookie, q parameter), how to compare (e equal,
-- p prefix, x present, r expression), the number of the branch or 0, and a name and a
-- value in hexadecimal. The first rule that is met decides, then the cookie, then
-- chance. Whatever goes wrong leaves the request to the route's own backend, which
-- txn.backend holds.
local maxRegexBytes = 128

local function rulesOf(text)
  local rules = {}
  for source, compare, to, name, value in string.gmatch(text, "(%l)(%l)(%d):(%x*):(%x*)") do
    local rule = { source = source, compare = compare, to = tonumber(to), name = unhex(name), value = unhex(value) }
    if compare == "r" then
      local good, regex = Regex.new(rule.value, true)
      rule.regex = good and regex or nil
    end
    rules[#rules + 1] = rule
  end
  return rules
end

local canaryOf = remember(256 * 1024, function(text)
  local branches, total, cookie, rules = string.match(text, "^([^;]*);(%d+);([^;]*);(.*)$")
  local canary = { branches = {}, held = { ["0"] = 0 }, weights = 0, total = tonumber(total) }
  for name, weight, id in string.gmatch(branches, "([^*+]+)%*(%d+)%*(%x+)") do
    local branch = { name = name, weight = tonumber(weight), id = id }
    canary.branches[#canary.branches + 1] = branch
    canary.held[id] = #canary.branches
    canary.weights = canary.weights + branch.weight
  end
  local secure, age
  canary.cookie, secure, age = string.match(cookie, "^([^:]+):(s?):(%d*)$")
  if canary.cookie then
    canary.attributes = "; path=/; HttpOnly; SameSite=Lax" .. (secure == "s" and "; Secure" or "") .. (age ~= "" and "; Max-Age=" .. age or "")
  end
  canary.rules = rulesOf(rules)
  return canary
end)

local function meets(txn, rule)
  local value = valueOf[rule.source](txn, rule.name)
  if value == nil then
    return false
  elseif rule.compare == "x" then
    return true
  elseif rule.compare == "e" then
    return value == rule.value
  elseif rule.compare == "p" then
    return string.sub(value, 1, #rule.value) == rule.value
  end
  return rule.regex ~= nil and #value <= maxRegexBytes and rule.regex:match(value)
end

-- choose returns the number of a branch, or 0, and whether chance has decided.
local function choose(txn, canary)
  for _, rule in ipairs(canary.rules) do
    if meets(txn, rule) then
      return rule.to, false
    end
  end
  if canary.weights == 0 then
    return 0, false
  end
  local held = canary.cookie and canary.held[txn.f:req_cook(canary.cookie) or ""]
  if held == 0 and canary.weights < canary.total or held and held > 0 and canary.branches[held].weight > 0 then
    return held, false -- a branch that gets no requests any more keeps no clients
  end
  local at = txn.f:rand(canary.total)
  for number, branch in ipairs(canary.branches) do
    at = at - branch.weight
    if at < 0 then
      return number, true
    end
  end
  return 0, true
end

-- Connections that are handed on whole go by weights only.
core.register_action("fairlead_share", { "tcp-req" }, function(txn)
  local canary = canaryOf(txn:get_var("sess.canary"))
  local branch = canary.branches[(choose(txn, canary))]
  if branch then
    txn:set_var("sess.backend", branch.name)
  end
end)

core.register_action("fairlead_canary", { "http-req" }, function(txn)
  local canary = canaryOf(txn:get_var("txn.canary"))
  local number, fresh = choose(txn, canary)
  local branch = canary.branches[number]
  if fresh and canary.cookie then
    txn:set_var("txn.branch_cookie", canary.cookie .. "=" .. (branch and branch.id or "0") .. canary.attributes)
    txn:set_var("txn.after", true)
  end
  if branch then
    -- A branch has pods of its own, so it has a sticky cookie of its own.
    local mode, name, rest = string.match(txn:get_var("txn.policy"), "^([^|]*|)([^|]+)(.*)$")
    if mode then
      txn:set_var("txn.policy", mode .. name .. "_" .. branch.id .. rest)
    end
    txn:set_var("txn.backend", branch.name)
  end
end)
