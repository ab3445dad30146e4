import { type KeyframeClient, mustSucceed } from "../../client/index.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/scene.ts";
import type { Step } from "../../shared/contract/fields.ts";

/** A project in the pictures; `steps` are those that are made. */
type Film = { title: string; textPrompt: string; description: string; night?: string; steps: Step[] };

const WHOLE: Step[] = ["first-frame", "last-frame", "video"];

/** Oldest first. The pictures show the studio of the last. */
const FILMS: Film[] = [
  {
    title: "Midnight express",
    textPrompt: "A night train crosses a viaduct under a full moon, snow on the hills",
    description: "Opening shot",
    steps: WHOLE,
  },
  {
    title: "First light",
    textPrompt: "Dawn over a lake, morning mist, a heron takes off",
    description: "",
    steps: ["first-frame", "last-frame"],
  },
  {
    title: "High summer",
    textPrompt: "Midday in the mountains, clear sky, meadows down to the valley",
    description: "For the tourist board",
    steps: WHOLE,
  },
  {
    title: "Kite",
    textPrompt: "A field at golden hour, a red kite rises slowly",
    description: "",
    steps: ["first-frame", "last-frame"],
  },
  {
    title: "Station in the storm",
    textPrompt: "A weather station on a ridge, storm clouds, rain comes closer",
    description: "",
    steps: ["first-frame"],
  },
  {
    title: "The keeper",
    textPrompt: "A lighthouse on a cliff at dusk, waves below, slow camera move towards the sea",
    description: "Keep the evening light of the reference image.",
    night: "A lighthouse on a cliff in the deep blue of night, waves below",
    steps: WHOLE,
  },
];

/** Makes the films. Returns the project whose studio is shown. */
export async function makeFilms(keyframe: KeyframeClient): Promise<string> {
  let last = "";
  for (const film of FILMS) last = await makeFilm(keyframe, film);
  return last;
}

async function makeFilm(keyframe: KeyframeClient, film: Film): Promise<string> {
  const { title, textPrompt, description, night, steps } = film;
  const { projectId } = await keyframe.createProject({ title, textPrompt, description });
  const reference = night === undefined ? null : await keyframe.uploadReferenceImage(drawReferencePhoto(title));
  for (const step of steps) {
    const started = await keyframe.generate(step, {
      projectId,
      ...(reference !== null && step !== "video" ? reference : {}),
      ...(night !== undefined && step === "last-frame" ? { prompt: night } : {}),
    });
    mustSucceed(await keyframe.waitFor(started));
  }
  return projectId;
}

const TESTS = 26;
const CHECK_EVERY_MS = 100;
const TIMEOUT_MS = 30_000;

/** Three endpoints: one that works, one that fails, one for a single event type. */
type Endpoints = { webhookId: string; stop: () => Promise<void> };

/** Registers the endpoints before the films are made. Returns the one whose page is shown. */
export async function makeWebhooks(keyframe: KeyframeClient): Promise<Endpoints> {
  const working = serveAnswer(() => new Response("ok"));
  const failing = serveAnswer((turn) => (turn % 3 === 0 ? new Response("ok") : new Response("busy", { status: 503 })));
  await keyframe.webhooks.create({
    url: `${working.url}/crm`,
    description: "CRM",
    eventTypes: ["project.created"],
  });
  await keyframe.webhooks.create({ url: `${failing.url}/review`, description: "Review tool" });
  const shown = await keyframe.webhooks.create({ url: `${working.url}/keyframe`, description: "Edit suite" });
  return {
    webhookId: shown.webhookId,
    stop: async () => void (await Promise.all([working.stop(), failing.stop()])),
  };
}

/** Sends enough test events for the chart and waits until they are delivered. */
export async function sendTests(keyframe: KeyframeClient, webhookId: string): Promise<void> {
  for (let sent = 0; sent < TESTS; sent++) await keyframe.webhooks.test(webhookId);
  const end = performance.now() + TIMEOUT_MS;
  for (;;) {
    const { deliveries } = await keyframe.webhooks.deliveries(webhookId, { status: "pending" });
    if (deliveries.length === 0) return;
    if (performance.now() > end) throw new Error("The test events were not delivered in time.");
    await new Promise((resolve) => setTimeout(resolve, CHECK_EVERY_MS));
  }
}

/** A receiver on loopback; `turn` counts its requests from 1. */
function serveAnswer(answer: (turn: number) => Response): { url: string; stop: () => Promise<void> } {
  let turn = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    await request.body?.cancel();
    turn++;
    return answer(turn);
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}
