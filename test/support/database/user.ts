import type { ClonedDatabase } from "./clone-database.ts";
import type { Input, Row } from "./predictions.ts";

/** What a user may ask of start_prediction; the project is the world's unless another is named. */
export type Wanted = {
  project?: string;
  step?: string;
  prompt?: string | null;
  reference?: string | null;
  firstFrame?: string | null;
  lastFrame?: string | null;
  duration?: number | null;
  /** More fields of the input. */
  input?: Record<string, unknown>;
  model?: string | null;
  key?: string | null;
  hash?: string | null;
};

type Started = { prediction: Row & { id: string; input: Input }; replayed: boolean; rate: Row };

/** start_prediction as the api function calls it, with the user's own rights. */
export async function start(
  db: ClonedDatabase,
  user: { owner: string; project: string },
  wanted: Wanted = {},
): Promise<Started> {
  const named = {
    prompt: wanted.prompt,
    referenceImagePath: wanted.reference,
    firstFramePredictionId: wanted.firstFrame,
    lastFramePredictionId: wanted.lastFrame,
    durationSeconds: wanted.duration,
  };
  const given = Object.entries(named).filter(([, value]) => value !== undefined && value !== null);
  const input = JSON.stringify({ ...Object.fromEntries(given), ...wanted.input });
  return await db.asUser(user.owner, async (sql) => {
    const [row] = await sql<{ started: Started }[]>`
      select keyframe.start_prediction(
        ${wanted.project ?? user.project}, ${wanted.step ?? "first-frame"}, ${input}::text::jsonb, ${wanted.model ?? null},
        ${wanted.key ?? null}, ${wanted.hash ?? null}) as started`;
    if (!row) throw new Error("start_prediction gave no row.");
    return row.started;
  });
}

/** create_project as the api function calls it. */
export async function create(
  db: ClonedDatabase,
  owner: string,
  { title = "Harbour", key = null, hash = null }: { title?: string; key?: string | null; hash?: string | null } = {},
): Promise<{ project: Row & { id: string }; replayed: boolean; rate: Row }> {
  return await db.asUser(owner, async (sql) => {
    const [row] = await sql<{ created: { project: Row & { id: string }; replayed: boolean; rate: Row } }[]>`
      select keyframe.create_project(${title}, 'A harbour at dawn', '', '16:9', ${key}, ${hash}) as created`;
    if (!row) throw new Error("create_project gave no row.");
    return row.created;
  });
}

/** Notes a file of the bucket projects as the user's, as an upload does; without a size, as an administrator may. */
export async function addReference(
  db: ClonedDatabase,
  owner: string,
  size: { width: unknown; height: unknown } | null = { width: 1280, height: 720 },
): Promise<string> {
  const name = `${crypto.randomUUID()}.png`;
  const metadata = JSON.stringify({ ...size, ownerId: owner });
  await db.sql`
    insert into storage.objects (bucket_id, name, user_metadata) values ('projects', ${name}, ${metadata}::text::jsonb)`;
  return `projects/${name}`;
}
