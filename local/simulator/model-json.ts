import { hashText } from "./draw/seeded-random.ts";
import { models } from "./models.ts";
import { notFound, Problem } from "./problem.ts";

/** A version id of 64 hex digits that stays the same for a model. */
function versionId(name: string): string {
  const parts = Array.from({ length: 8 }, (_, i) => hashText(`${i} ${name}`).toString(16).padStart(8, "0"));
  return parts.join("");
}

/** The model's name for a `version` (or `model`) of a create: `owner/name`, `owner/name:id` or the id alone. Throws 422. */
export function modelOfVersion(version: string | undefined): string {
  const name = Object.keys(models).find((known) => {
    const id = versionId(known);
    return version === known || version === id || version === `${known}:${id}`;
  });
  if (name) return name;
  const detail = "The specified version does not exist (or perhaps you don't have permission to use it?)";
  throw new Problem(422, "Invalid version or not permitted", detail);
}

/** A model as the API shows it, with the schema of its input; throws 404 for a name not in the table. */
export function modelJson(name: string, baseUrl: string): object {
  const model = models[name];
  if (!model) throw notFound();
  const [owner, short] = name.split("/");
  return {
    url: `${baseUrl}/${name}`,
    owner,
    name: short,
    description: model.about,
    visibility: "public",
    is_official: true,
    run_count: 0,
    latest_version: {
      id: versionId(name),
      created_at: "2026-01-01T00:00:00.000Z",
      cog_version: null,
      openapi_schema: { openapi: "3.0.2", info: { title: "Cog", version: "0.1.0" }, ...model.openapi },
    },
  };
}
