import { createCallDatabase } from "../../../shared/platform/call-database.ts";
import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { createKickHandler } from "../../../shared/webhooks/signed-handler.ts";
import { systemClock } from "../../../shared/worker/clock.ts";
import { createWorker } from "../../../shared/worker/worker.ts";
import { createExchange, type Exchange } from "./lanes/database.ts";
import { createLanes, DATABASE_TIMEOUT_MS, DELIVER_LIMITS } from "./lanes/lanes.ts";
import type { createSender } from "./send/attempt.ts";

const NAME = "keyframe-deliver";

const environment = readEnvironment(functionEnvironments["keyframe-deliver"], (name) => Deno.env.get(name));
const allowLocal = environment.KEYFRAME_ALLOW_LOCAL_WEBHOOKS;
const log = createLog({ function: NAME });
const { SUPABASE_URL: platformUrl, SUPABASE_SECRET_KEYS: secretKey } = environment;

/** Loaded during the first claim: the answer to the first kick does not wait for undici. A claim fails with it: the worker stops. */
let sender: Promise<ReturnType<typeof createSender>> | undefined;
const openSender = () =>
  (sender ??= import("./send/attempt.ts").then((module) => module.createSender(allowLocal, log)));

const exchange = createExchange(createCallDatabase(platformUrl, secretKey, fetch, DATABASE_TIMEOUT_MS));
const lanes = createLanes({
  exchange: async (...args: Parameters<Exchange>) => (await Promise.all([exchange(...args), openSender()]))[0],
  attempt: async (delivery) => (await openSender())(delivery),
  log,
  clock: systemClock,
});
const worker = createWorker({
  ...lanes,
  identify: ({ delivery: { id, endpoint_id } }) => ({ deliveryId: id, endpointId: endpoint_id }),
  log,
  limits: DELIVER_LIMITS,
});

Deno.serve(createKickHandler({ name: NAME, secret: environment.KEYFRAME_KICK_SECRET, log, kick: worker.kick }));
