import { expect, test } from "vitest";
import { runCommand } from "../../tools/deploy/run-command.ts";

test("a program that the deployment starts → has the CLI's login, and neither the functions' secrets nor their settings", async () => {
  const environment = {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: "/home/ada",
    SUPABASE_ACCESS_TOKEN: "sbp_login",
    REPLICATE_API_TOKEN: "r8_of_another_tool",
    KEYFRAME_REPLICATE_API_TOKEN: "r8_secret",
    KEYFRAME_KICK_SECRET: "whsec_secret",
  };
  const print = "console.log(JSON.stringify(Deno.env.toObject()))";
  const ended = await runCommand(Deno.execPath(), ["eval", print], { cwd: "/", environment, env: { PGPASSWORD: "p" } });
  expect(ended).toMatchObject({ code: 0, isTooLate: false });
  const { PATH: _, ...seen } = JSON.parse(ended.stdout);
  expect(seen).toEqual({ HOME: "/home/ada", SUPABASE_ACCESS_TOKEN: "sbp_login", PGPASSWORD: "p" });
});
