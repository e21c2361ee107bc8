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

-- What pods of one backend get in place of host and path: the fourth part of
-- txn.branch_headers, in base64 (router/model/rewrite.go):
--   HOST|STRIP|TO|EMPTY     STRIP is empty where the path stays
-- txn.found_path is the path before the route's own rewrite.
local branchRewriteOf = remember(256 * 1024, function(text, txn)
  local host, strip, to, empty = string.match(txn.c:b64dec(string.match(text, "([^.]*)$")), "^([^|]*)|(%d*)|([^|]*)|([^|]*)$")
  return { host = host, strip = tonumber(strip), to = to, empty = empty }
end)

core.register_action("fairlead_branch_rewrite", { "http-req" }, function(txn)
  local rewrite = branchRewriteOf(txn:get_var("txn.branch_headers"), txn)
  if rewrite.host ~= "" then
    txn.http:req_set_header("Host", rewrite.host)
  end
  if not rewrite.strip then
    return
  end
  local found = txn:get_var("txn.found_path")
  local rest = string.sub(found or "", rewrite.strip + 1)
  local path = rest ~= "" and rewrite.to .. rest or rewrite.empty
  -- A path that no variable has room for is not cut: its request ends here.
  if not found and txn.f:path() or not txn.http:req_set_path(path) then
    txn:done(txn:reply({ status = 414 }))
  end
end)
