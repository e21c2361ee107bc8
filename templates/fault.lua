-- Faults: txn.fault_record says which requests wait, and which get an error in place of a
-- pod's answer (router/model/fault.go):
--   MILLISECONDS:PERCENT;STATUS:PERCENT;RULE+...
-- A rule is one of canaries, and a request must meet all of them. txn.fault says what was
-- done, for logs. A record that cannot be read does nothing.
local faultOf = remember(64 * 1024, function(text)
  local delay, delayed, status, aborted, rules = string.match(text, "^(%d+):(%d+);(%d+):(%d+);(.*)$")
  if not delay then
    return false
  end
  return { delay = tonumber(delay), delayed = tonumber(delayed), status = tonumber(status), aborted = tonumber(aborted), rules = rulesOf(rules) }
end)

-- chosen is true for a percentage of requests.
local function chosen(txn, percent)
  return percent >= 100 or txn.f:rand(100) < percent
end

core.register_action("fairlead_fault", { "http-req" }, function(txn)
  local fault = faultOf(txn:get_var("txn.fault_record"))
  if not fault then
    return
  end
  for _, rule in ipairs(fault.rules) do
    if not meets(txn, rule) then
      return
    end
  end
  local delays = fault.delay > 0 and chosen(txn, fault.delayed)
  local aborts = fault.status > 0 and chosen(txn, fault.aborted)
  if delays then
    txn:set_var("txn.fault", aborts and "delay+abort" or "delay")
    core.msleep(fault.delay)
  elseif aborts then
    txn:set_var("txn.fault", "abort")
  end
  if aborts then
    txn:set_var("txn.answered_by", "fault")
    local reply = txn:reply({ status = fault.status })
    reply:add_header("content-type", "text/plain")
    reply:add_header("cache-control", "no-store")
    reply:set_body("A fault that a policy of this address asks for.\n")
    txn:done(reply)
  end
end)
