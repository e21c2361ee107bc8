-- API keys that are not in the header X-API-Key: txn.key_from lists the places where one
-- may be, which plus signs separate (router/model/apikeys.go):
--   hNAME  a header      qNAME  a parameter of the URL
-- NAME is in hexadecimal. A key becomes txn.api_key if the request has exactly one.
do
  local places = remember(64 * 1024, function(text)
    local list = {}
    for item in string.gmatch(text, "[^+]+") do
      list[#list + 1] = { query = string.sub(item, 1, 1) == "q", name = unhex(string.sub(item, 2)) }
    end
    return list
  end)

  local function decode(text)
    text = string.gsub(text, "+", " ")
    return (string.gsub(text, "%%(%x%x)", function(digits)
      return string.char(tonumber(digits, 16))
    end))
  end

  -- parameters calls a function with each parameter of the query: its text, its name
  -- and its value.
  local function parameters(txn, found)
    for item in string.gmatch(txn.f:query() or "", "[^&]+") do
      local name, value = string.match(item, "^([^=]*)=?(.*)$")
      found(item, decode(name), decode(value))
    end
  end

  core.register_action("fairlead_api_key", { "http-req" }, function(txn)
    local key, count = nil, 0
    local function take(value)
      key, count = value, count + 1
    end
    for _, place in ipairs(places(txn:get_var("txn.key_from") or "")) do
      if place.query then
        parameters(txn, function(_, name, value)
          if name == place.name then
            take(value)
          end
        end)
      else
        local n = txn.f:req_fhdr_cnt(place.name)
        if n > 0 then
          take(txn.f:req_fhdr(place.name))
          count = count + n - 1
        end
      end
    end
    if count == 1 and key ~= "" then
      txn:set_var("txn.api_key", key)
    end
  end)

  core.register_action("fairlead_strip_key", { "http-req" }, function(txn)
    for _, place in ipairs(places(txn:get_var("txn.key_from") or "")) do
      if place.query then
        local rest, gone = {}, false
        parameters(txn, function(text, name)
          if name == place.name then
            gone = true
          else
            rest[#rest + 1] = text
          end
        end)
        if gone then
          txn.http:req_set_query(table.concat(rest, "&"))
        end
      else
        txn.http:req_del_header(place.name)
      end
    end
  end)
end
