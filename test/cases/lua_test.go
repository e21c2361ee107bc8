package cases

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/templates"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// remembering is Lua that ends the start of HAProxy with an error if what texts mean is
// not kept as templates/requests.lua says.
const remembering = `
local parsed = 0
local meaningOf = remember(64 * 1024, function(text)
  parsed = parsed + 1
  return {text, text}
end)
local function parsedFor(text)
  local before = parsed
  meaningOf(text)
  return parsed - before
end
assert(parsedFor("a") == 1 and parsedFor("a") == 0, "a text is not kept")
local long = string.rep("x", 8 * 1024)
assert(parsedFor(long) == 1 and parsedFor(long) == 1, "a long text is kept")
collectgarbage()
local before, most = collectgarbage("count"), 0
for n = 1, 200000 do
  meaningOf("text number " .. n)
  if n % 1000 == 0 then
    collectgarbage()
    most = math.max(most, collectgarbage("count") - before)
  end
end
assert(most > 64 and most < 20 * 64, "kept for 64 KiB of texts: " .. most .. " KiB")
assert(parsedFor("text number 200000") == 0, "the last text is not kept")
`

// TestRemembered: what HAProxy's Lua keeps of the texts of routes is bounded, however
// many texts come and go.
func TestRemembered(t *testing.T) {
	t.Parallel()
	for _, version := range append([]string{"haproxy-3.2"}, versions...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			binary, err := toolset.Path(version)
			if err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			for name, text := range map[string]string{
				"test.lua":    string(templates.RequestsLua) + remembering,
				"haproxy.cfg": "global\n  lua-load " + filepath.Join(dir, "test.lua") + "\nfrontend f\n  mode http\n  timeout client 1s\n  bind unix@" + filepath.Join(dir, "s") + "\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.Command(binary, "-c", "-f", filepath.Join(dir, "haproxy.cfg")).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
