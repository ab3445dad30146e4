import { expect, inject, test } from "vitest";

type Ran = { code: number; output: string; error: string };

/** `npm run sql` on the stack of the tests. */
async function runSql(args: string[], input?: string): Promise<Ran> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "tools/sql.ts", ...args],
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  });
  const child = command.spawn();
  if (input !== undefined) await new Blob([input]).stream().pipeTo(child.stdin);
  const { code, stdout, stderr } = await child.output();
  return { code, output: new TextDecoder().decode(stdout), error: new TextDecoder().decode(stderr) };
}
const onStack = (args: string[], input?: string) => runSql(["--data", inject("stack").dataDir, ...args], input);

test("npm run sql with a statement → its rows as a table, read as the role postgres", async () => {
  const { code, output } = await onStack(["select current_user, null as nothing, '{a}'::text[] as list"]);
  expect([code, output]).toEqual([
    0,
    'current_user | nothing | list\n-------------+---------+------\npostgres     |         | ["a"]\n1 row\n',
  ]);
});

test("npm run sql with several statements of which the last fails → its message, exit 1, and none has an effect", async () => {
  const before = "select max_active_per_owner from keyframe_private.settings";
  const was = (await onStack([before])).output;
  const { code, error } = await onStack(
    [],
    "update keyframe_private.settings set max_active_per_owner = 99 where only_row;\nselect x;",
  );
  expect([code, error]).toEqual([1, 'column "x" does not exist\n']);
  expect((await onStack([before])).output).toBe(was);
});

test("npm run sql without a running stack → says what to do, exit 1", async () => {
  const { code, error } = await runSql(["--data", "/nowhere", "select 1"]);
  expect([code, error]).toEqual([
    1,
    "No stack runs on /nowhere. Run npm start, or name its data folder with --data.\n",
  ]);
});
