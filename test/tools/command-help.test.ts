import { join } from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { runCommand } from "../support/tools/run-command.ts";

const { scripts } = JSON.parse(Deno.readTextFileSync(join(PROJECT_ROOT, "package.json"))) as {
  scripts: Record<string, string>;
};
const commands = Object.entries(scripts).flatMap(([name, line]): [string, string, string[]][] => {
  const [, script = "", more = ""] = /^exec deno run -A ((?:tools|lab|local)\/\S+\.ts) ?(.*)$/.exec(line) ?? [];
  return script === "" ? [] : [[name, script, more.split(" ").filter(Boolean)]];
});

test.concurrent.each(commands)(
  "npm run %s -- --help → what it does and its options, exit 0",
  async (name, script, more) => {
    const { code, said, error } = await runCommand(script, [...more, "--help"]).ended;
    expect([code, error]).toEqual([0, ""]);
    expect(said).toMatch(new RegExp(`^(npm (run )?${name}|add \\[folder\\])`));
  },
);

test.concurrent.each(["package", "screenshots", "schema", "install"])(
  "tools/%s.ts with an unknown option → one line, and nothing is done",
  async (name) => {
    const ended = await runCommand(`tools/${name}.ts`, ["--helf"]).ended;
    expect(ended).toMatchObject({ code: 1, output: "Unknown option '--helf': --help lists what there is.\n" });
  },
);
