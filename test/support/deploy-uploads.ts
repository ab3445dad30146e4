/** One function as the CLI uploaded it. */
export type Uploaded = {
  slug: string;
  /** Every file's path as the CLI named it. */
  files: string[];
  metadata: { entrypoint_path?: string; import_map_path?: string; verify_jwt?: boolean };
};

/** Reads the multipart body of `POST …/functions/deploy`. */
export async function readUpload(request: Request, slug: string): Promise<Uploaded> {
  const form = await request.formData();
  const metadata = form.get("metadata");
  const text = typeof metadata === "string" ? metadata : ((await metadata?.text()) ?? "{}");
  const files = form.getAll("file").map((part) => (typeof part === "string" ? part : part.name));
  // What the CLI sends; a test that gets something else fails by it.
  return { slug, files: files.sort(), metadata: JSON.parse(text) as Uploaded["metadata"] };
}

/** What the platform answers to it. */
export function deployedFunction({ slug, metadata }: Uploaded) {
  return {
    id: `00000000-0000-4000-8000-${slug.length.toString().padStart(12, "0")}`,
    slug,
    name: slug,
    status: "ACTIVE",
    version: 1,
    created_at: 1,
    updated_at: 1,
    verify_jwt: metadata.verify_jwt ?? true,
    entrypoint_path: metadata.entrypoint_path ?? "",
    import_map_path: metadata.import_map_path ?? "",
  };
}
