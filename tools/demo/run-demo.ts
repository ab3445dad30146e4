import { createClient } from "@supabase/supabase-js";
import { createKeyframeClient } from "../../client/index.ts";
import { registerReceiver } from "./expect-events.ts";
import { makeFilm } from "./make-film.ts";
import { type DemoOptions, makeShot, type Timed } from "./make-shot.ts";
import { makeShotByAgent } from "./make-shot-by-agent.ts";

/** Makes one shot, or a film of several, as a new user would, through Auth and the HTTP API only. Throws at the first failure. */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { url, publishableKey, signal, steps, display, shots, byAgent } = options;
  const timed: Timed = async (name, work, result) => {
    signal.throwIfAborted();
    display?.onStageStart(name);
    const start = performance.now();
    const made = await work();
    const step = { name, ms: Math.round(performance.now() - start), result: result(made) };
    steps.push(step);
    display?.onStage(step);
    return made;
  };

  const supabase = createClient(url, publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { fetch: (input, init) => fetch(input, { ...init, signal }) },
  });
  const email = `film-${crypto.randomUUID().slice(0, 8)}@keyframe.local`;
  const session = await timed(
    "sign up",
    async () => {
      const { data, error } = await supabase.auth.signUp({ email, password: crypto.randomUUID() });
      if (error || !data.session) throw new Error(`Signing up failed: ${error?.message ?? "no session was given"}`);
      return data.session;
    },
    () => email,
  );
  if (byAgent) return await makeShotByAgent(session.access_token, timed, options);
  const keyframe = createKeyframeClient({ url, apikey: publishableKey, getToken: () => session.access_token });
  const receiver = await timed(
    "webhook",
    () => registerReceiver(keyframe, signal),
    () => "a receiver on this machine, registered",
  );
  try {
    if (shots === undefined) await makeShot(keyframe, receiver, timed, options);
    else await makeFilm(keyframe, receiver, timed, { ...options, shots });
  } finally {
    await receiver.stop();
  }
}
