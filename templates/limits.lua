-- Keys of limits that are not the client's address: txn.rates and txn.concurrents
-- hold limits, which plus signs separate, and each ends in its key after a colon
-- (router/model/rate.go):
--   =hNAME  a header      =cNAME  a cookie     =qNAME  a parameter of the URL
--   =o      the host      =n      no key       =aN     the address, of IPv6 N digits
-- NAME is in hexadecimal. The key of the Nth limit becomes txn.rate_clientN or
-- txn.concurrent_clientN. Where the request lacks what is asked for, there is none,
-- and HAProxy counts by the address. txn.limit_clients says that all went well.
local known, kept, maxKept = {}, 0, 256 * 1024

local function parse(text)
  local keys, n = {}, 0
  for limit in string.gmatch(text, "[^+]+") do
    n = n + 1
    local kind, rest = string.match(limit, ":=(%l)(%w*)$")
    if kind then
      if kind == "h" or kind == "c" or kind == "q" then
        rest = string.gsub(rest, "%x%x", function(digits)
          return string.char(tonumber(digits, 16))
        end)
      end
      keys[#keys + 1] = { place = n, kind = kind, rest = rest }
    end
  end
  return keys
end

local function keysOf(text)
  local keys = known[text]
  if keys then
    return keys
  end
  keys = parse(text)
  if kept + #text > maxKept then -- texts of routes that are long gone, or too many
    known, kept = {}, 0
  end
  if #text <= maxKept / 16 then -- a longer one would drive out many
    known[text], kept = keys, kept + #text
  end
  return keys
end

local fetches = {
  h = function(txn, name) return txn.f:req_fhdr(name) end,
  c = function(txn, name) return txn.f:req_cook(name) end,
  q = function(txn, name)
    local value = txn.f:url_param(name)
    return value and txn.c:url_dec(value)
  end,
  o = function(txn) return txn.c:host_only(txn:get_var("txn.host") or "") end,
}

-- client returns what counts in place of the address. A value has any length and any
-- bytes, so its hash stands for it.
local function client(txn, key)
  if key.kind == "n" then
    return "="
  end
  if key.kind == "a" then
    local digits, address = string.match(txn:get_var("sess.client_key") or "", "^/(%d+)/(%x+)$")
    return "=a" .. (digits == "32" and string.sub(address, 1, tonumber(key.rest)) or address)
  end
  local value = fetches[key.kind](txn, key.rest)
  if value == nil or value == "" then
    return nil
  end
  return "=" .. key.kind .. txn.c:hex(txn.c:sha1(value))
end

core.register_action("fairlead_limit_clients", { "http-req" }, function(txn)
  for _, of in ipairs({ "rate", "concurrent" }) do
    local text = txn:get_var("txn." .. of .. "s")
    if text then
      for _, key in ipairs(keysOf(text)) do
        local value = client(txn, key)
        if value then
          txn:set_var("txn." .. of .. "_client" .. key.place, value)
        end
      end
    end
  end
  txn:set_var("txn.limit_clients", true)
end)
