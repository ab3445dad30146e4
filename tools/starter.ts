import { join } from "node:path";
import { parseOptions, runMain, stopSignals } from "../command-line/run-main.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { demoUserOf, loadStackKeys } from "../local/stack/stack-keys.ts";
import { STACK_OPTIONS } from "../local/stack/stack-settings.ts";
import { findStack } from "./demo/find-stack.ts";
import { installClient } from "./starter/install-client.ts";

const HELP = `npm run starter -- [options]   serves examples/vite-react, with the packed client, beside npm start

  --data DIR    the data whose stack is used (default .keyframe)
  --port N      the port of the page (default 5173)`;

async function main(): Promise<number> {
  const { values } = parseOptions({
    args: Deno.args,
    options: { data: STACK_OPTIONS.data, port: { type: "string", default: "5173" } },
  });
  const signal = stopSignals();
  const stack = await findStack({ dataDir: values.data, port: 0 }, console.log, signal);
  if (!stack) throw new Error(`No stack runs on ${values.data}. Start one in another terminal: npm start`);
  const app = join(PROJECT_ROOT, "examples/vite-react");
  await installClient(app);
  const { email, password } = demoUserOf(await loadStackKeys(values.data));
  console.log(`Sign in as ${email} with ${password}, or create an account.`);
  const vite = join(PROJECT_ROOT, "node_modules/vite/bin/vite.js");
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", vite, app, "--port", values.port, "--strictPort"],
    env: { VITE_SUPABASE_URL: stack.url, VITE_SUPABASE_PUBLISHABLE_KEY: stack.publishableKey },
    signal,
  }).spawn().status;
  return signal.aborted ? 0 : code;
}

runMain(HELP, main);
