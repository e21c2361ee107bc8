-- A page in place of a pod's answer: txn.page_text. The status stays, and so do the headers
-- that a client needs to go on after it.
local kept = { ["www-authenticate"] = true, ["proxy-authenticate"] = true, ["retry-after"] = true, ["allow"] = true, ["set-cookie"] = true }

core.register_action("fairlead_page", { "http-res" }, function(txn)
  local reply = txn:reply()
  reply:set_status(txn:get_var("txn.page_status"))
  for name, values in pairs(txn.http:res_get_headers()) do
    if kept[name] then
      for i = 0, #values do
        reply:add_header(name, values[i])
      end
    end
  end
  reply:add_header("cache-control", "no-store")
  reply:add_header("content-type", "text/html")
  reply:set_body(txn:get_var("txn.page_text"))
  txn:done(reply)
end)
