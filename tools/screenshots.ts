import { join } from "node:path";
import { createKeyframeClient } from "../client/index.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { removeData } from "../local/stack/data-folder.ts";
import { type Stack, startStack } from "../local/stack/start-stack.ts";
import { parseOptions, runMain, stopSignals } from "../command-line/run-main.ts";
import { launchBrowser } from "./demo/browser.ts";
import { animate } from "./screenshots/animate.ts";
import { makeDemoData, makeEndpoint, slowDown } from "./screenshots/make-data.ts";
import { takePictures } from "./screenshots/take-pictures.ts";

/** A README loads the animation at once. */
const MAX_ANIMATION_BYTES = 2_000_000;
const FOLDER = join(PROJECT_ROOT, "docs", "screenshots");

const HELP = `npm run screenshots   takes the README's pictures and its animation into docs/screenshots

It starts a throw-away stack with a film of three shots with a cast and a webhook endpoint, and needs about a minute. It has no options.`;

async function main(): Promise<number> {
  parseOptions({ args: Deno.args });
  const signal = stopSignals();
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-screenshots-" });
  const simulator = { startDelayMs: 0, runDelayMs: 0 };
  try {
    const stack = await startStack({ dataDir, port: 0, durable: false, simulator, dashboard: true, signal });
    await photograph(stack, signal).finally(() => stack.stop());
    return 0;
  } finally {
    await removeData(dataDir);
  }
}

async function photograph(stack: Stack, signal: AbortSignal): Promise<void> {
  const { url, keys, demoSession: session, databaseUrl, simulator } = stack;
  const getToken = () => session.access_token;
  const keyframe = createKeyframeClient({ url, apikey: keys.publishableKey, getToken });
  const receiver = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, () => new Response("ok"));
  const browser = await launchBrowser();
  try {
    const at = { url, publishableKey: keys.publishableKey, signal };
    const { filmId, projectId } = await makeDemoData(keyframe, at);
    const webhookId = await makeEndpoint(keyframe, databaseUrl, `http://127.0.0.1:${receiver.addr.port}/keyframe`);
    await Deno.mkdir(FOLDER, { recursive: true });
    const shots = [
      { name: "film", path: `/films/${filmId}`, size: { width: 1120, height: 894 } },
      { name: "studio", path: `/projects/${projectId}`, show: "[aria-label=Steps]" },
      { name: "webhook", path: `/webhooks/${webhookId}` },
    ];
    await takePictures({ browser, url, session, shots, folder: FOLDER });

    await slowDown(simulator, 1500);
    const film = await keyframe.projects.create({
      title: "Harbour",
      textPrompt: "A harbour at dawn, fog, one red boat",
    });
    const animation = await animate({ browser, url, session, path: `/projects/${film.projectId}` });
    if (animation.length > MAX_ANIMATION_BYTES) throw new Error(`The animation has ${animation.length} bytes.`);
    await Deno.writeFile(join(FOLDER, "film.gif"), animation);
    console.log(`${join(FOLDER, "film.gif")}  ${Math.round(animation.length / 1000)} kB`);
  } finally {
    await browser.close();
    await receiver.shutdown();
  }
}

runMain(HELP, main);
