import postgres from "postgres";
import { answerJobs } from "../../processes.ts";
import { type Job, openPostEvent } from "./post-event.ts";

// Posts each notification at once. One that is missed or refused is lost.
const databaseUrl = Deno.env.get("DATABASE_URL") ?? "";
const postEvent = await openPostEvent(databaseUrl);
const sql = postgres(databaseUrl, { max: 1 });
await sql.listen(Deno.env.get("CHANNEL") ?? "", (payload) => {
  const job: Job = JSON.parse(payload);
  postEvent(job).catch((error) => console.error("notify-listener:", error));
});
await answerJobs(() => "ready");
