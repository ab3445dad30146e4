// As much of curl as the pasted command needs, for machines without it: -s, -H, -d and an address.
const args = [...Deno.args];
const headers = new Headers();
let url = "";
let body: string | undefined;
for (let arg = args.shift(); arg !== undefined; arg = args.shift()) {
  if (arg === "-H") headers.append(...splitHeader(args.shift() ?? ""));
  else if (arg === "-d") body = args.shift();
  else if (arg !== "-s") url = arg;
}
const response = await fetch(url, body === undefined ? { headers } : { method: "POST", headers, body });
await Deno.stdout.write(new Uint8Array(await response.arrayBuffer()));

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

export {};
