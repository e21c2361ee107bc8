-- What the other files of Lua here share. All of them are one chunk, this one first.

-- remember keeps what texts mean, because the same few texts come with each request, up
-- to most bytes of them: what they mean takes some ten times that.
local function remember(most, parse)
  local known, kept = {}, 0
  return function(text, ...)
    local meaning = known[text]
    if meaning then
      return meaning
    end
    meaning = parse(text, ...)
    if kept + #text > most then -- texts of routes that are long gone, or too many
      known, kept = {}, 0
    end
    if #text <= most / 16 then -- a longer one would drive out many
      known[text], kept = meaning, kept + #text
    end
    return meaning
  end
end

-- split cuts a text at separators.
local function split(text, separator)
  local out, from = {}, 1
  while true do
    local at = string.find(text, separator, from, true)
    if not at then
      out[#out + 1] = string.sub(text, from)
      return out
    end
    out[#out + 1] = string.sub(text, from, at - 1)
    from = at + 1
  end
end

-- unhex reads a text in hexadecimal.
local function unhex(digits)
  return (string.gsub(digits, "%x%x", function(byte)
    return string.char(tonumber(byte, 16))
  end))
end

-- valueOf returns what a request has of a name, or nil: h is a header, c a cookie, q a
-- parameter of the URL, decoded. HAProxy decodes no text with a NUL: what cannot be decoded
-- stays as it is written, so that it never looks as if it were not there.
local valueOf = {
  h = function(txn, name) return txn.f:req_fhdr(name) end,
  c = function(txn, name) return txn.f:req_cook(name) end,
  q = function(txn, name)
    local value = txn.f:url_param(name)
    if value and not string.find(value, "%00", 1, true) then
      value = txn.c:url_dec(value) or value
    end
    return value
  end,
}
