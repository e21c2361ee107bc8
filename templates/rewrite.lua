-- Paths that a pattern replaces: txn.rewrite says how (router/model/policy.go):
--   LONGEST:PATTERN:REPLACEMENT   both texts in hexadecimal
-- regex.Replace in Go does the same. Package router/regex bounds what a pattern may cost
-- for a path of LONGEST bytes, so a longer one is refused.
local longestResult = 8192

-- replacedPath returns a replacement with what an expression captured.
local function replacedPath(replacement, captures)
  local to = string.gsub(replacement, "%$([%$1-9])", function(what)
    return what == "$" and "$" or captures[tonumber(what) + 1] or ""
  end)
  if string.sub(to, 1, 1) ~= "/" then
    to = "/" .. to
  end
  return to
end

local rewriteOf = remember(1024 * 1024, function(text)
  local longest, pattern, replacement = string.match(text, "^(%d+):(%x+):(%x*)$")
  local good, regex = Regex.new(unhex(pattern), true)
  return { longest = tonumber(longest), regex = good and regex or nil, replacement = unhex(replacement) }
end)

core.register_action("fairlead_rewrite", { "http-req" }, function(txn)
  local rewrite = rewriteOf(txn:get_var("txn.rewrite"))
  local path = txn.f:path() or ""
  if #path > rewrite.longest then
    txn:set_var("txn.path_too_long", true)
    return
  end
  if not rewrite.regex then
    return
  end
  local matched, captures = rewrite.regex:match(path)
  if not matched then
    return
  end
  local to = replacedPath(rewrite.replacement, captures)
  if #to > longestResult then
    txn:set_var("txn.path_too_long", true)
    return
  end
  txn.http:req_set_path(to)
end)
