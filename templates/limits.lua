-- Keys of limits that are not the client's address: txn.rates and txn.concurrents
-- hold limits, which plus signs separate, and each ends in its key after a colon
-- (router/model/rate.go):
--   =hNAME  a header      =cNAME  a cookie     =qNAME  a parameter of the URL
--   =o      the host      =n      no key       =aN     the address, of IPv6 N digits
-- NAME is in hexadecimal. The key of the Nth limit becomes txn.rate_clientN or
-- txn.concurrent_clientN. Where the request lacks what is asked for, there is none,
-- and HAProxy counts by the address. txn.limit_clients says that all went well.
local limitKeysOf = remember(256 * 1024, function(text)
  local keys, n = {}, 0
  for limit in string.gmatch(text, "[^+]+") do
    n = n + 1
    local kind, rest = string.match(limit, ":=(%l)(%w*)$")
    if kind then
      if kind == "h" or kind == "c" or kind == "q" then
        rest = unhex(rest)
      end
      keys[#keys + 1] = { place = n, kind = kind, rest = rest }
    end
  end
  return keys
end)

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
      for _, key in ipairs(limitKeysOf(text)) do
        local value = limitClient(txn, key)
        if value then
          txn:set_var("txn." .. of .. "_client" .. key.place, value)
        end
      end
    end
  end
  txn:set_var("txn.limit_clients", true)
end)
