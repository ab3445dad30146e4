import { createClient } from "@supabase/supabase-js";
import { drawImage } from "../media/images.ts";
import type { JourneyInput } from "./journey.ts";
import { startFlowReceiver } from "../receiver/receiver.ts";
import { answers } from "../receiver/habits.ts";
import type { FlowStack } from "../stack/own-stack.ts";

/** A new user who has nothing yet, with an image and a receiver: what the journey starts with. Stop it in the end. */
export async function newTraveller(stack: FlowStack): Promise<{ input: JourneyInput; stop(): Promise<void> }> {
  const client = createClient(stack.url, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
  });
  const credentials = { email: `client-${crypto.randomUUID()}@keyframe.local`, password: crypto.randomUUID() };
  const { data, error } = await client.auth.signUp(credentials);
  if (error || !data.session) throw new Error(`Signing up failed: ${error?.message ?? "no session"}`);
  const receiver = await startFlowReceiver(answers(204));
  return {
    input: {
      url: stack.url,
      apikey: stack.publishableKey,
      token: data.session.access_token,
      hookUrl: receiver.url,
      image: [...(await drawImage())],
    },
    stop: receiver.close,
  };
}
