start()

-- In the menu: HOST opens a game, the others join it.
local lobby = "127.0.0.1:" .. port("lobby")
say("HOST", "choose host " .. lobby .. " 4 " .. values.migration)
wait_log(10, "HOST", "waiting for")
for _, name in ipairs(with_role("client")) do
  say(name, "choose join " .. lobby .. " " .. name)
end
wait(20, nodes, "all")

-- How slow the link is, and how long B looks at the box, the match's seed decides; or X hears nothing from A
-- until the box is gone.
local is_held = values.slow == "held"
if is_held then
  faults("A", "X", { held = true })
else
  faults("A", "X", { delay = values.slow * math.random(), jitter = 0.05, loss = 2 })
end
sleep(0.2 * math.random())
say("A", "spawn")
wait(5, "B", "has 41")
expect_state("A", 41, { owner = "A" })
say("B", "pick up 41")
wait(5, "B", "holds 41")
expect_state("B", 41, { owner = "B" })
sleep(0.3 * math.random())
say("B", "throw away 41")
wait(5, "X", "hears destroy 41")
faults("A", "X")
sleep(1.5)
expect_state("B", 41, { exists = false })
if is_held and values.migration == "host" then
  expect_finding("zombie-object", "X")
end
