-- The value by which a request is led to a pod, for routes whose balance is a hash:
-- txn.hash says which (router/model/hash.go):
--   hNAME  a header   cNAME  a cookie   qNAME  a parameter of the URL, NAME in hexadecimal
--   p      the path   u      path and query   o      the host, as the client sent them
-- Without the value HAProxy takes the pods in turn.
local hashName = remember(64 * 1024, function(text) return unhex(string.sub(text, 2)) end)

local function hashValue(txn, text)
  local source = string.sub(text, 1, 1)
  if source == "p" then
    return txn:get_var("txn.path")
  elseif source == "u" then
    local query = txn.f:query()
    local path = txn:get_var("txn.path") or ""
    return query and query ~= "" and path .. "?" .. query or path
  elseif source == "o" then
    return txn.c:host_only(txn:get_var("txn.host") or "")
  end
  return valueOf[source](txn, hashName(text))
end

core.register_action("fairlead_hash_key", { "http-req" }, function(txn)
  local value = hashValue(txn, txn:get_var("txn.hash"))
  if value and value ~= "" then
    txn:set_var("txn.hash_key", value)
  end
end)
