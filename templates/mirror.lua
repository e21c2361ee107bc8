-- Mirrors: txn.mirror says which requests are copied to other servers
-- (router/model/mirror.go):
--   ID;SHARE*BODY+...
-- A share is in hundredths of a percent, BODY the longest body that is copied. A copy is
-- handed to the policy agent, which sends it; its answer here is only that it has it. A
-- request waits 20 ms at most, and goes on whatever happens. What is not handed over is
-- counted, and the counts go with the next copy.

-- The times are in milliseconds: for the body, for the hand-over, and for how long a worker
-- is left alone: the longest pause where it does not listen, the shortest where it did not
-- answer in time twice in a row, and then twice as long each time, up to the longest. Once is
-- what happens on a busy machine, and is no reason to lose what comes after it.
local bodyWait, handOverWait, shortestPause, longestPause = 5, 14, 10, 100

local mirrorOf = remember(128 * 1024, function(text)
  local id, list = string.match(text, "^(%x+);(.*)$")
  if not id then
    return false
  end
  local targets, longest = {}, 0
  for share, body in string.gmatch(list, "(%d+)%*(%d+)") do
    targets[#targets + 1] = { share = tonumber(share), body = tonumber(body) }
    longest = math.max(longest, tonumber(body))
  end
  return { id = id, targets = targets, longest = longest }
end)

-- These are of one thread.
local missed, reported, nextWorker = {}, 0, 0
local pausedUntil = { a = 0, b = 0 }
-- late says how many times in a row a worker was late, and when it last was. Requests that
-- wait side by side see the same delay, which is one.
local late = { a = { times = 0, at = 0 }, b = { times = 0, at = 0 } }

local function milliseconds()
  local now = core.now()
  return now.sec * 1000 + now.usec // 1000
end

local function miss(reason)
  missed[reason] = (missed[reason] or 0) + 1
end

-- pause leaves a worker alone that did not take what a request handed over since it began.
local function pause(worker, began, listens)
  local now, seen = milliseconds(), late[worker]
  if began >= seen.at then
    seen.times, seen.at = seen.times + 1, now
  end
  if not listens then
    pausedUntil[worker] = now + longestPause
  elseif seen.times > 1 then
    pausedUntil[worker] = now + math.min(shortestPause * 2 ^ math.min(seen.times - 2, 8), longestPause)
  end
end

-- send gives a message to a worker: the other one if the first does not listen. It returns
-- true if one has it.
local function send(dir, message)
  nextWorker = 1 - nextWorker
  for i = 0, 1 do
    local worker, began = (nextWorker + i) % 2 == 0 and "a" or "b", milliseconds()
    if began >= pausedUntil[worker] then
      local answer = core.httpclient():post({
        url = "http://agent/mirror", dst = "unix@" .. dir .. "/side-" .. worker .. ".sock", body = message, timeout = handOverWait,
      })
      if answer and answer.status < 500 then
        late[worker].times = 0
        return true -- the worker counts what it cannot read
      end
      local over = answer and answer.status == 504
      pause(worker, began, over)
      if over then
        return false
      end
    end
  end
  return false
end

-- hand gives the agent a copy, or only counts, with the counts of before.
local function hand(dir, copy)
  local counts, taken = {}, missed
  for reason, n in pairs(taken) do
    counts[#counts + 1] = reason .. "=" .. n
  end
  missed, reported = {}, milliseconds()
  if send(dir, string.pack(">B s2", 1, table.concat(counts, " ")) .. copy) then
    return
  end
  for reason, n in pairs(taken) do
    missed[reason] = (missed[reason] or 0) + n
  end
  if copy ~= "" then
    miss("agent")
  end
end

-- untold returns the body of a request that does not say its length. HTTP/2 need not say that
-- there is one, and its end is known once it is there: calls of gRPC have a message.
local function untold(txn, most)
  if txn.f:req_ver() < "2" then
    return txn.f:req_fhdr("transfer-encoding") == nil and "" or nil
  end
  for i = 0, bodyWait do
    if txn.f:internal_htx_has_eom() == 1 then
      local text = txn.f:req_body() or ""
      return #text <= most and text or nil
    elseif i < bodyWait then
      core.msleep(1)
    end
  end
end

-- body returns the body of a request, or nil if it is not there in time. One that waits to
-- be asked for never is.
local function body(txn, most)
  local length = tonumber(txn.f:req_fhdr("content-length") or "")
  if not length then
    return untold(txn, most)
  end
  if length > most or length > 0 and txn.f:req_fhdr("expect") then
    return nil
  end
  for _ = 1, bodyWait do
    if txn.f:req_body_len() >= length then
      break
    end
    core.msleep(1)
  end
  local text = txn.f:req_body() or ""
  return #text == length and text or nil
end

core.register_action("fairlead_mirror", { "http-req" }, function(txn, dir)
  local mirror, method, host = mirrorOf(txn:get_var("txn.mirror")), txn.f:method(), txn.f:req_fhdr("host") or ""
  if not mirror or txn.f:req_fhdr("x-fairlead-mirror") or #method > 64 or #host > 1024 then
    return -- there are no copies of copies, nor of what no server takes
  end
  local chosen, numbers = {}, {}
  for number, target in ipairs(mirror.targets) do
    if target.share >= 10000 or txn.f:rand(10000) < target.share then
      chosen[number] = target
    end
  end
  if next(chosen) == nil then
    return
  end
  local text = ""
  if txn.f:req_fhdr("upgrade") or method == "CONNECT" then
    for _ in pairs(chosen) do
      miss("upgrade")
    end
    chosen = {}
  elseif mirror.longest > 0 then
    local whole = body(txn, mirror.longest)
    for number, target in pairs(chosen) do
      if target.body > 0 and (not whole or #whole > target.body) then
        miss("body")
        chosen[number] = nil
      end
    end
    text = whole or ""
  end
  for number, target in pairs(chosen) do
    numbers[#numbers + 1] = number .. (target.body > 0 and "b" or "")
  end
  if #numbers > 0 then
    hand(dir, string.pack(">s2 s2 s2 s4 s2 s2 B s4 s4", mirror.id, table.concat(numbers, " "), method, txn.f:pathq(), host, txn.f:src() or "",
      txn.f:ssl_fc() and 1 or 0, txn.f:req_hdrs_bin() or "", text))
  elseif milliseconds() - reported > 1000 then
    hand(dir, "") -- or counts would wait for the next copy
  end
end, 1)
