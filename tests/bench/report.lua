-- Sends one report per request, with a new id and the next of the prepared values.
-- Its argument is a file: the JSON of a request up to the id, then one line per report of what
-- follows the id. Requests for tickets have no id.

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  local lines = io.lines(arguments[1])
  head = lines()
  values = {}
  for line in lines do
    values[#values + 1] = line
  end
  local source = assert(io.open("/dev/urandom", "rb"))
  local seed = 0
  for _, byte in ipairs({ source:read(6):byte(1, 6) }) do
    seed = seed * 256 + byte
  end
  source:close()
  math.randomseed(seed)
  wrk.headers["Content-Type"] = "application/json"
  named = not head:find("commitments")
  sent = 0
end

function request()
  sent = sent + 1
  local random = math.random
  local id = string.format(
    "%04x%04x-%04x-4%03x-%04x-%04x%04x%04x",
    random(0, 0xffff), random(0, 0xffff), random(0, 0xffff), random(0, 0xfff),
    random(0x8000, 0xbfff), random(0, 0xffff), random(0, 0xffff), random(0, 0xffff)
  )
  local body = head .. (named and id or "") .. values[sent % #values + 1]
  return wrk.format("POST", nil, nil, body)
end

function done(summary, latency)
  local all = 0
  for _, thread in ipairs(threads) do
    all = all + thread:get("sent")
  end
  local errors = summary.errors
  print(string.format(
    '{"sent": %d, "answered": %d, "refused": %d, "broken": %d, "seconds": %.6f, "slowest": %.6f}',
    all, summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(99) / 1e6
  ))
end
