-- The firewall in mode Detect: no request waits long for its body, and what was not judged
-- is counted.

-- firewallWait is how many milliseconds a body has to arrive.
local firewallWait = 100

core.register_action("fairlead_firewall_body", { "http-req" }, function(txn)
  local length = tonumber(txn.f:req_fhdr("content-length") or "")
  if not length or txn.f:req_fhdr("expect") then
    return -- what has come is judged
  end
  local wanted = math.min(length, tonumber(txn:get_var("txn.waf_body")) or 0)
  for _ = 1, firewallWait do
    if txn.f:req_body_len() >= wanted then
      return
    end
    core.msleep(1)
  end
end)

-- Counted as refusals are, with a status that says that the request went on.
core.register_action("fairlead_unjudged", { "http-req" }, function(txn)
  countRefusal(txn:get_var("txn.backend") or "", "unjudged", 200)
end)
