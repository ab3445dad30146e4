const HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/**
 * Reads KEYFRAME_REPLICATE_OUTPUT_HOSTS: where outputs may be fetched from. `replicate.delivery` permits https at that host and below
 * it, on the usual port; `http://127.0.0.1:4000` permits exactly that origin, for a provider on the same machine.
 * Throws an Error that does not repeat the entry: it may hold a password.
 */
export function parseOutputHosts(list: string): (url: string) => boolean {
  const entries = list
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "");
  const origins = new Set(entries.filter((entry) => entry.includes("://")).map(readOrigin));
  const hosts = entries.filter((entry) => !entry.includes("://"));
  if (entries.length === 0 || !hosts.every((host) => HOST.test(host))) throw wrongEntry();

  return (given) => {
    if (!URL.canParse(given)) return false;
    const url = new URL(given);
    if (url.username !== "" || url.password !== "") return false;
    // Not url.origin: that of blob:https://… is the origin of what follows.
    if (origins.has(`${url.protocol}//${url.host}`)) return true;
    if (url.protocol !== "https:" || url.port !== "") return false;
    return hosts.some((host) => url.hostname === host || url.hostname.endsWith(`.${host}`));
  };
}

function readOrigin(entry: string): string {
  const origin = URL.canParse(entry) ? new URL(entry).origin : "";
  if (!/^https?:/.test(origin) || entry.replace(/\/$/, "") !== origin) throw wrongEntry();
  return origin;
}

const wrongEntry = () => new Error("must be host names or origins such as http://127.0.0.1:4000, separated by commas");
