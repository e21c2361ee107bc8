-- The value by which a request is led to a pod, for routes whose balance is a hash:
-- txn.hash says which (router/model/hash.go):
--   hNAME  a header   cNAME  a cookie   qNAME  a parameter of the URL, NAME in hexadecimal
--   p      the path   u      path and query   o      the host, as the client sent them
-- Without the value HAProxy takes the pods in turn.
local names, kept, maxKept = {}, 0, 2000

local function nameOf(text)
  local name = names[text]
  if not name then
    name = string.gsub(string.sub(text, 2), "%x%x", function(digits)
      return string.char(tonumber(digits, 16))
    end)
    if kept >= maxKept then -- names of routes that are long gone, or too many
      names, kept = {}, 0
    end
    names[text], kept = name, kept + 1
  end
  return name
end

local values = {
  h = function(txn, text) return txn.f:req_fhdr(nameOf(text)) end,
  c = function(txn, text) return txn.f:req_cook(nameOf(text)) end,
  q = function(txn, text)
    local value = txn.f:url_param(nameOf(text))
    return value and txn.c:url_dec(value)
  end,
  p = function(txn) return txn:get_var("txn.path") end,
  u = function(txn)
    local query = txn.f:query()
    local path = txn:get_var("txn.path") or ""
    return query and query ~= "" and path .. "?" .. query or path
  end,
  o = function(txn) return txn.c:host_only(txn:get_var("txn.host") or "") end,
}

core.register_action("fairlead_hash_key", { "http-req" }, function(txn)
  local text = txn:get_var("txn.hash")
  local value = values[string.sub(text, 1, 1)](txn, text)
  if value and value ~= "" then
    txn:set_var("txn.hash_key", value)
  end
end)
