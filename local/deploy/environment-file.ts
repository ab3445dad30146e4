import { join } from "node:path";
import { DeployError } from "./deploy-error.ts";

/** The text of an .env file in which every value stands as it is. Throws when one cannot. */
export function environmentText(variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      if (/['\r\n]/.test(value)) {
        throw new DeployError(`${name} may hold neither ' nor a line break: it travels in an .env file.`);
      }
      return `${name}='${value}'\n`;
    })
    .join("");
}

/** Gives secrets to a command as a file that only this person can read, and that is gone afterwards. */
export async function withEnvironmentFile<T>(
  variables: Record<string, string>,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const text = environmentText(variables);
  const folder = await Deno.makeTempDir({ prefix: "keyframe-deploy-" });
  try {
    const path = join(folder, "secrets.env");
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    return await work(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
