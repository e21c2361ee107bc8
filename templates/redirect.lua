-- Redirects of routes with expressions among them: txn.redirect has all of them in their order
-- (router/match/redirect.go):
--   ?KIND:TEXT:RECORD;...   TEXT and RECORD in hexadecimal
-- The first that matches becomes txn.redirect, with its path in place of what makes that path.
-- Nothing of a request comes to stand before the path, so none names a host.
local redirectsOf = remember(1024 * 1024, function(text)
  local redirects = {}
  for kind, what, record in string.gmatch(text, "(%w+):(%x*):(%x+)") do
    local redirect = { kind = kind, text = unhex(what), fields = split(unhex(record), "|") }
    redirect.longest = tonumber(kind)
    if redirect.longest then
      local good, regex = Regex.new(redirect.text, true)
      redirect.regex = good and regex or nil
    end
    redirect.captures = redirect.longest and string.find(redirect.fields[5], "$", 1, true) ~= nil
    redirects[#redirects + 1] = redirect
  end
  return redirects
end)

-- redirectFor returns the path with captures, or true if one redirect matches without; nil or false if it
-- does not match.
local function redirectFor(redirect, path)
  if redirect.kind == "e" then
    return path == redirect.text
  elseif not redirect.longest then
    return string.sub(path .. "/", 1, #redirect.text + 1) == redirect.text .. "/" and not (redirect.kind == "s" and path == redirect.text)
  elseif not redirect.regex or #path > redirect.longest then
    return false
  end
  local matched, captures = redirect.regex:match(path)
  if not matched or not redirect.captures then
    return matched
  end
  local to = replacedPath(redirect.fields[5], captures)
  return #to <= longestResult and to
end

core.register_action("fairlead_redirect", { "http-req" }, function(txn)
  local redirects, path = redirectsOf(txn:get_var("txn.redirect")), txn:get_var("txn.path") or ""
  txn:unset_var("txn.redirect")
  for i = 1, #redirects do
    local redirect = redirects[i]
    local to = redirectFor(redirect, path)
    if to then
      local fields = { table.unpack(redirect.fields, 1, 6) }
      if to ~= true then
        fields[5] = string.gsub(to, "|", "%%7C")
      end
      txn:set_var("txn.redirect", table.concat(fields, "|"))
      return
    end
  end
end)
