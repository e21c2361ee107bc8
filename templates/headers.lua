-- Changes of headers that a route or its policy asks for, as data: actions parted by
-- 0x1e, fields by 0x1f:
--   D name
--   S name part...     sets; A adds. A part is "L" and literal text, or "F" and a fetch with
--                      its converters, "req.hdr(name),lower"; "E" instead of
--                      "F" escapes the result as %{+E} does in a log format
--   C and L            cookies and redirects of pods: answers.lua
-- This stands in base64 after a tilde. Where nothing has to be fetched, there is
-- a list of names and values to set instead. In both cases a dot and a list of
-- the names to delete follow, and after lists perhaps a dot and a list of names and
-- values to add. What is done for single backends may have a fourth part: rewrite.lua.

-- texts reads texts that follow their length, up to the first empty one. A
-- length of 240 or more has further bytes (HAProxy's doc/SPOE.txt, "variable
-- length integer").
local function texts(bytes)
  local out, at = {}, 1
  while true do
    local n = string.byte(bytes, at)
    at = at + 1
    if n == 0 then
      return out
    end
    if n >= 240 then
      local shift, more = 4
      repeat
        more = string.byte(bytes, at)
        n, at, shift = n + (more << shift), at + 1, shift + 7
      until more < 128
    end
    out[#out + 1] = string.sub(bytes, at, at + n - 1)
    at = at + n
  end
end

local function parseFixed(set, remove, add)
  local actions = {}
  for i = 1, #set, 2 do
    actions[#actions + 1] = { name = set[i], parts = { { literal = set[i + 1] } } }
  end
  for i = 1, #add, 2 do
    actions[#actions + 1] = { add = true, name = add[i], parts = { { literal = add[i + 1] } } }
  end
  for _, name in ipairs(remove) do
    actions[#actions + 1] = { delete = true, name = name }
  end
  return actions
end

local function parseActions(text)
  local actions = {}
  for _, item in ipairs(split(text, "\30")) do
    local fields = split(item, "\31")
    if fields[1] == "C" or fields[1] == "L" then
      actions[#actions + 1] = answerAction(fields)
      goto continue
    end
    local action = { delete = fields[1] == "D", add = fields[1] == "A", name = fields[2], parts = {} }
    for i = 3, #fields do
      local rest = string.sub(fields[i], 2)
      if string.sub(fields[i], 1, 1) == "L" then
        action.parts[#action.parts + 1] = { literal = rest }
      else
        local words = split(rest, ",")
        local part = { converters = {}, escape = string.sub(fields[i], 1, 1) == "E" }
        part.header = string.match(words[1], "^re[qs]%.hdr%((.*)%)$")
        for j = 2, #words do
          part.converters[#part.converters + 1] = words[j]
        end
        action.parts[#action.parts + 1] = part
      end
    end
    actions[#actions + 1] = action
    ::continue::
  end
  return actions
end

local actionsOf = remember(256 * 1024, function(text, txn)
  local first, remove, add = string.match(text, "^~?([^.]*)%.([^.]*)%.?([^.]*)")
  if string.sub(text, 1, 1) == "~" then
    return parseActions(txn.c:b64dec(first))
  end
  local added = {}
  if add ~= "" then
    added = texts(txn.c:b64dec(add))
  end
  return parseFixed(texts(txn.c:b64dec(first)), texts(txn.c:b64dec(remove)), added)
end)

-- value returns the text of a part: the last value of a header, or the client
-- certificate.
local function value(txn, response, part)
  if part.literal then
    return part.literal
  end
  local v
  if not part.header then
    v = txn.f:ssl_c_der()
  elseif response then
    v = txn.f:res_hdr(part.header)
  else
    v = txn.f:req_hdr(part.header)
  end
  v = v or ""
  for _, name in ipairs(part.converters) do
    if name == "lower" then
      v = string.lower(v)
    elseif name == "base64" then
      v = txn.c:base64(v)
    end
  end
  if part.escape then
    v = string.gsub(v, '["\\%]]', "\\%0")
  end
  return v
end

local function change(txn, response, text)
  for _, action in ipairs(actionsOf(text, txn)) do
    if action.answer then
      action.answer(txn)
    elseif action.delete then
      if response then
        txn.http:res_del_header(action.name)
      else
        txn.http:req_del_header(action.name)
      end
    else
      local text = ""
      for _, part in ipairs(action.parts) do
        text = text .. value(txn, response, part)
      end
      if response and action.add then
        txn.http:res_add_header(action.name, text)
      elseif response then
        txn.http:res_set_header(action.name, text)
      elseif action.add then
        txn.http:req_add_header(action.name, text)
      else
        txn.http:req_set_header(action.name, text)
      end
    end
  end
end

core.register_action("fairlead_request_headers", { "http-req" }, function(txn)
  change(txn, false, txn:get_var("txn.request_headers"))
end)

core.register_action("fairlead_branch_headers", { "http-req" }, function(txn)
  change(txn, false, txn:get_var("txn.branch_headers"))
end)

core.register_action("fairlead_response_headers", { "http-res" }, function(txn)
  change(txn, true, txn:get_var("txn.response_headers"))
end)
