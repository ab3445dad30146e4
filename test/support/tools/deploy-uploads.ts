/** One function as the CLI uploaded it. */
export type Uploaded = {
  slug: string;
  /** Every file's path as the CLI named it. */
  files: string[];
  /** Path → content. */
  contents: Map<string, string>;
  metadata: { entrypoint_path?: string; import_map_path?: string; verify_jwt?: boolean };
};

/** Reads the multipart body of `POST …/functions/deploy`. */
export async function readUpload(request: Request, slug: string): Promise<Uploaded> {
  const form = await request.formData();
  const metadata = form.get("metadata");
  const text = typeof metadata === "string" ? metadata : ((await metadata?.text()) ?? "{}");
  const parts = form.getAll("file").filter((part) => typeof part !== "string");
  const contents = new Map(await Promise.all(parts.map(async (part) => [part.name, await part.text()] as const)));
  const files = [...contents.keys()];
  // What the CLI sends; a test that gets something else fails by it.
  return { slug, files: files.sort(), contents, metadata: JSON.parse(text) as Uploaded["metadata"] };
}
