-- What becomes of cookies and redirects of pods. They are actions among those of
-- headers.lua:
--   C path-from path-to domain-from domain-to secure samesite   empty fields change nothing
--   L from to

-- mostAdded bounds by how much all cookies of an answer may grow, which has to fit into
-- what HAProxy keeps free of a buffer (tune.maxrewrite): a header that does not fit is lost.
local mostAdded = 4096

local function trim(text)
  return (string.match(text, "^%s*(.-)%s*$"))
end

-- cookieAfter returns a Set-Cookie header with changed attributes (RFC 6265, section 5.2).
local function cookieAfter(change, header)
  local parts = split(header, ";")
  local secure, sameSite
  for i = 2, #parts do
    local name, value = string.match(parts[i], "^([^=]*)=?(.*)$")
    name, value = string.lower(trim(name)), trim(value)
    if name == "path" and change.pathFrom ~= "" and string.sub(value, 1, #change.pathFrom) == change.pathFrom then
      parts[i] = " Path=" .. change.pathTo .. string.sub(value, #change.pathFrom + 1)
    elseif name == "domain" and change.domainFrom ~= "" and string.gsub(string.lower(value), "^%.", "") == change.domainFrom then
      parts[i] = " Domain=" .. change.domainTo
    elseif name == "secure" then
      secure = true
    elseif name == "samesite" and change.sameSite ~= "" then
      parts[i], sameSite = " SameSite=" .. change.sameSite, true
    end
  end
  if change.secure and not secure then
    parts[#parts + 1] = " Secure"
  end
  if change.sameSite ~= "" and not sameSite then
    parts[#parts + 1] = " SameSite=" .. change.sameSite
  end
  return table.concat(parts, ";")
end

local function changeCookies(txn, change)
  if not txn.f:res_fhdr("set-cookie") then
    return
  end
  local before = txn.http:res_get_headers()["set-cookie"]
  local after, added, changed = {}, 0, false
  for i = 0, #before do
    after[i] = cookieAfter(change, before[i])
    added, changed = added + #after[i] - #before[i], changed or after[i] ~= before[i]
  end
  if not changed or added > mostAdded then
    return
  end
  txn.http:res_del_header("set-cookie")
  for i = 0, #after do
    txn.http:res_add_header("set-cookie", after[i])
  end
end

local function changeLocation(txn, change)
  local location = txn.f:res_fhdr("location")
  if location and string.sub(location, 1, #change.from) == change.from then
    local to = change.to .. string.sub(location, #change.from + 1)
    if string.sub(to, 1, 2) == "//" then -- or what follows would be a host
      to = string.gsub(to, "^/+", "/")
    end
    txn.http:res_set_header("location", to)
  end
end

-- answerAction reads an action of the two kinds.
local function answerAction(fields)
  if fields[1] == "C" then
    local change = {
      pathFrom = fields[2], pathTo = fields[3], domainFrom = fields[4], domainTo = fields[5],
      secure = fields[6] ~= "", sameSite = fields[7],
    }
    return { answer = function(txn) changeCookies(txn, change) end }
  end
  local change = { from = fields[2], to = fields[3] }
  return { answer = function(txn) changeLocation(txn, change) end }
end
