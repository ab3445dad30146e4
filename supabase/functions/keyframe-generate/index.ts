import { createCallDatabase } from "../../../shared/platform/call-database.ts";
import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { createKickHandler } from "../../../shared/webhooks/kick-handler.ts";
import { createGenerateWorker } from "./generate-worker.ts";

const NAME = "keyframe-generate";

const environment = readEnvironment(functionEnvironments[NAME], (name) => Deno.env.get(name));
const log = createLog({ function: NAME });
const callDatabase = createCallDatabase(environment.SUPABASE_URL, environment.SUPABASE_SECRET_KEYS, fetch);
const { kick } = createGenerateWorker({ environment, callDatabase, log });

Deno.serve(createKickHandler({ name: NAME, secret: environment.KEYFRAME_KICK_SECRET, log, kick }));
