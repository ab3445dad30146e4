import { createClient } from "@supabase/supabase-js";
import { createKeyframeClient } from "../../client/index.ts";
import { registerReceiver } from "./expect-events.ts";
import { makeFilm } from "./make-film.ts";
import { type DemoOptions, makeShot, type Timed } from "./make-shot.ts";
import { makeShotByAgent } from "./make-shot-by-agent.ts";
import { showFilm, type ShownFilm } from "./show-film.ts";

/**
 * Makes a film of one shot or of several, as a user would, through Auth and the HTTP API only. Returns null for a single frame and for an
 * agent's shot, which give no film to watch. Throws at the first failure.
 */
export async function runDemo(options: DemoOptions): Promise<ShownFilm | null> {
  const { url, publishableKey, signal, steps, display, shots, byAgent, onlyFrame, user } = options;
  const timed: Timed = async (name, work, result) => {
    signal.throwIfAborted();
    display?.onStageStart(name);
    const start = performance.now();
    const made = await work();
    const step = { name, ms: Math.round(performance.now() - start), result: result(made) };
    steps?.push(step);
    display?.onStage(step);
    return made;
  };

  const supabase = createClient(url, publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { fetch: (input, init) => fetch(input, { ...init, signal }) },
  });
  const email = user?.email ?? `film-${crypto.randomUUID().slice(0, 8)}@keyframe.local`;
  const signs = user ? "sign in" : "sign up";
  const session = await timed(
    signs,
    async () => {
      const { auth } = supabase;
      const { data, error } = user
        ? await auth.signInWithPassword(user)
        : await auth.signUp({ email, password: crypto.randomUUID() });
      if (error || !data.session) throw new Error(`The ${signs} failed: ${error?.message ?? "no session was given"}`);
      return data.session;
    },
    () => email,
  );
  if (byAgent) {
    await makeShotByAgent(session.access_token, timed, options);
    return null;
  }
  const keyframe = createKeyframeClient({ url, apikey: publishableKey, getToken: () => session.access_token });
  const receiver = await timed(
    "webhook",
    () => registerReceiver(keyframe, signal),
    () => "a receiver on this machine, registered",
  );
  try {
    if (onlyFrame) {
      await makeShot(keyframe, receiver, timed, options);
      return null;
    }
    if (shots !== undefined) {
      return await showFilm(keyframe, await makeFilm(keyframe, receiver, timed, { ...options, shots }), timed, options);
    }
    const { filmId } = await timed(
      "film",
      () => keyframe.films.create({ title: "Lighthouse" }, { signal }),
      (made) => made.filmId,
    );
    await makeShot(keyframe, receiver, timed, options, { filmId });
    return await showFilm(keyframe, filmId, timed, options);
  } finally {
    await receiver.stop();
  }
}
