-- Alternative names in certificates of clients. txn.client_sans lists those that are let in
-- (router/model/clientcertificate.go): KIND, MATCH and a value in hexadecimal, with plus
-- signs between them. A certificate that cannot be read has no names.
do
  -- element returns the tag of the DER element at a place, where its content is, and where
  -- the next one begins, or nothing if there is none whole before the end.
  local function element(text, at, last)
    local tag, length = string.byte(text, at, at + 1)
    if not length or at + 1 > last then
      return nil
    end
    local from = at + 2
    if length >= 128 then
      local bytes = length - 128
      if bytes < 1 or bytes > 3 or from + bytes - 1 > last then
        return nil
      end
      length = 0
      for i = from, from + bytes - 1 do
        length = length * 256 + string.byte(text, i)
      end
      from = from + bytes
    end
    if from + length - 1 > last then
      return nil
    end
    return tag, from, from + length - 1, from + length
  end

  -- inside calls a function with each element in a range, until it returns something. It
  -- returns that, or false where something cannot be read.
  local function inside(text, at, last, found)
    while at <= last do
      local tag, from, to, after = element(text, at, last)
      if not tag then
        return false
      end
      local result = found(tag, from, to)
      if result ~= nil then
        return result
      end
      at = after
    end
    return nil
  end

  local SEQUENCE, OID, OCTETS, EXTENSIONS = 0x30, 0x06, 0x04, 0xA3

  -- alternativeNames returns the range of the one extension with the names, if there is one.
  local function alternativeNames(der, from, to)
    local first, last, count = nil, nil, 0
    local read = inside(der, from, to, function(tag, at, ending)
      local named = false
      if tag ~= SEQUENCE then
        return false
      end
      return inside(der, at, ending, function(part, begin, stop)
        if part == OID then
          named = string.sub(der, begin, stop) == "\x55\x1D\x11"
        elseif part == OCTETS and named then
          first, last, count = begin, stop, count + 1
        end
      end)
    end)
    if read == nil and count == 1 then
      return first, last
    end
  end

  local function rangeOf(der, at, last, wanted)
    local first, ending
    inside(der, at, last, function(tag, from, to)
      if tag == wanted then
        first, ending = from, to
        return true
      end
    end)
    return first, ending
  end

  -- namesOf returns the names in a certificate, each as the last digit of its tag and its bytes.
  local namesOf = remember(1024 * 1024, function(der)
    local names = {}
    local from, to = rangeOf(der, 1, #der, SEQUENCE) -- the certificate
    if from then from, to = rangeOf(der, from, to, SEQUENCE) end -- what is signed of it
    if from then from, to = rangeOf(der, from, to, EXTENSIONS) end
    if from then from, to = rangeOf(der, from, to, SEQUENCE) end
    if from then from, to = alternativeNames(der, from, to) end
    if from then from, to = rangeOf(der, from, to, SEQUENCE) end
    if not from then
      return names
    end
    local read = inside(der, from, to, function(tag, at, ending)
      if tag >= 0x80 and tag <= 0x88 then
        local kind, value = string.format("%d", tag - 0x80), string.sub(der, at, ending)
        names[#names + 1] = { kind = kind, value = kind == "2" and string.lower(value) or value }
      end
    end)
    return read == nil and names or {}
  end)

  local matches = {
    e = function(value, wanted) return value == wanted end,
    p = function(value, wanted) return string.sub(value, 1, #wanted) == wanted end,
    s = function(value, wanted) return #value >= #wanted and string.sub(value, #value - #wanted + 1) == wanted end,
  }

  local wantedOf = remember(1024 * 1024, function(text)
    local list = {}
    for kind, match, value in string.gmatch(text, "(%d)(%l)(%x+)") do
      list[#list + 1] = { kind = kind, matches = matches[match], value = unhex(value) }
    end
    return list
  end)

  core.register_action("fairlead_alternative_names", { "http-req" }, function(txn)
    local names = namesOf(txn.f:ssl_c_der() or "")
    for _, wanted in ipairs(wantedOf(txn:get_var("txn.client_sans") or "")) do
      for _, name in ipairs(names) do
        if name.kind == wanted.kind and wanted.matches(name.value, wanted.value) then
          txn:set_var("txn.client_named", true)
          return
        end
      end
    end
  end)

  -- Subjects by expressions: txn.client_patterns lists them (ClientCertificate.PatternList), each
  -- as D for the whole name or C for the common name, the longest name that it is compared with,
  -- and the expression in hexadecimal.
  local patternsOf = remember(1024 * 1024, function(text)
    local list = {}
    for kind, longest, value in string.gmatch(text, "(%u)(%d+):(%x+)") do
      local good, regex = Regex.new(unhex(value), true)
      list[#list + 1] = { common = kind == "C", longest = tonumber(longest), regex = good and regex or nil }
    end
    return list
  end)

  -- plain reports whether each comma of a name ends a part, and each part is one type, an equals
  -- sign and a value of its own (match.PlainName): then no value can look like another part.
  -- Commons counts the common names.
  local function plain(name)
    local commons = 0
    if string.find(name, "[^ -~]") or string.find(name, '[\\+"<>;]') then
      return false
    end
    for part in string.gmatch(name .. ",", "([^,]*),") do
      local kind = string.match(part, "^([%w.-]+)=[^=#][^=]*$")
      if not kind then
        return false
      end
      commons = commons + (kind == "CN" and 1 or 0)
    end
    return true, commons
  end

  core.register_action("fairlead_subject_patterns", { "http-req" }, function(txn)
    local whole = unhex(txn:get_var("txn.client_subject") or "")
    local common = unhex(txn:get_var("txn.client_cn") or "")
    local good, commons = plain(whole)
    if not good then
      return
    end
    for _, pattern in ipairs(patternsOf(txn:get_var("txn.client_patterns") or "")) do
      local name = pattern.common and common or whole
      local compared = #name > 0 and #name <= pattern.longest and (not pattern.common or commons == 1)
      if compared and pattern.regex and (pattern.regex:match(name)) then
        txn:set_var("txn.client_matched", true)
        return
      end
    end
  end)

  -- What of the names stands in X-Forwarded-Client-Cert: texts without quotes and
  -- backslashes, and in quotes what has a separator.
  local keys = { ["2"] = "DNS", ["6"] = "URI" }
  core.register_action("fairlead_forward_names", { "http-req" }, function(txn)
    local text = {}
    for _, name in ipairs(namesOf(txn.f:ssl_c_der() or "")) do
      local plain = not string.find(name.value, "[^!-~]") and not string.find(name.value, '["\\]')
      if keys[name.kind] and #text < 64 and plain then
        local value = string.find(name.value, "[,;=]") and '"' .. name.value .. '"' or name.value
        text[#text + 1] = ";" .. keys[name.kind] .. "=" .. value
      end
    end
    txn:set_var("txn.client_names", table.concat(text))
  end)
end
