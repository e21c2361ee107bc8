-- Names the group of policies that answers a request, as txn.answered_by for logs, and counts
-- what policies refuse, for the router's metrics: backend, group and status. Each
-- thread counts by itself, and writes what has changed into a map each second, under keys of
-- its own, where the router reads it:
--   THREAD|BACKEND|GROUP|STATUS COUNT
-- Only requests that a policy answers come here. What a client sends is in no key: the backend is the
-- router's name for a Route.
local refusalsMap = select(3, ...) -- after the maps of conditions.lua
-- Keys of one thread, and for how many seconds one is kept that does not change. Where there
-- is no room, the backend is left out.
local mostRefusals, refusalsKept = 1000, 3600

if core.thread <= 1 then
  Map.new(refusalsMap, Map._str) -- so that HAProxy knows the map; once is enough
end

local refusals, refusalKeys, changedRefusals = {}, 0, {}

-- answeredBy names the group of a policy that ends a request: that of the first rule which
-- may have done so, as they stand in the frontend.
local function answeredBy(txn, status)
  local function has(name)
    return txn:get_var("txn." .. name) ~= nil
  end
  if has("waf_blocks") then
    return "firewall" -- which is the last one
  elseif (txn:get_var("txn.fl.count") or "ok") ~= "ok" then
    return "limits" -- that the agent counts, some of them after authentication
  elseif has("identified") then
    return "limits" -- which come after authentication
  elseif status < 400 then
    return has("ask") and "authentication" or status == 204 and "cors" or "redirects"
  elseif status == 401 or status == 421 or status == 403 and has("client_mark") and not has("client_passed") then
    return "authentication"
  elseif has("maintenance") then
    return "maintenance"
  elseif status == 414 and (has("longest_path") or not has("uri_max")) then
    return "rewrite" -- which comes after the limits
  elseif has("ask") then
    return "authentication"
  elseif status == 403 then
    return "access"
  elseif status == 503 and not has("rates") and not has("concurrents") and not has("counted_by") then
    return "authentication" -- without an agent to ask
  end
  return "limits"
end

local function countRefusal(backend, group, status)
  local rest = "|" .. group .. "|" .. status
  local key = backend .. rest
  if not refusals[key] then
    if refusalKeys >= mostRefusals then
      key = rest
    end
    if not refusals[key] then
      refusals[key], refusalKeys = { count = 0 }, refusalKeys + 1
    end
  end
  local r = refusals[key]
  r.count, r.at = r.count + 1, core.now().sec
  changedRefusals[key] = true
end

-- What refusals in the form of gRPC are as statuses of HTTP (router/render/grpc.go).
local ofGRPC = { ["3"] = 400, ["7"] = 403, ["8"] = 429, ["12"] = 404, ["14"] = 503, ["16"] = 401 }

core.register_action("fairlead_answered", { "http-after-res" }, function(txn)
  local status = txn.f:status()
  status = status == 200 and ofGRPC[txn.f:res_fhdr("grpc-status")] or status
  local group = answeredBy(txn, status)
  txn:set_var("txn.answered_by", group)
  if status >= 400 then -- neither redirects nor preflights
    countRefusal(txn:get_var("txn.backend") or "", group, status)
  end
end)

core.register_task(function()
  local looked = core.now().sec
  while true do
    core.sleep(1)
    local batch = changedRefusals
    changedRefusals = {}
    for key in pairs(batch) do
      core.set_map(refusalsMap, core.thread .. "|" .. key, tostring(refusals[key].count))
    end
    local now = core.now().sec
    if now - looked > 60 then
      looked = now
      local old = {}
      for key, r in pairs(refusals) do
        if now - r.at > refusalsKept then
          old[#old + 1] = key
        end
      end
      for _, key in ipairs(old) do
        refusals[key], refusalKeys, changedRefusals[key] = nil, refusalKeys - 1, nil
        core.del_map(refusalsMap, core.thread .. "|" .. key)
      end
    end
  end
end)
