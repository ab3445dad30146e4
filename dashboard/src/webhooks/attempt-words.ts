/** How one request ended; `error` is its class, null when it was delivered. */
type Outcome = { statusCode: number | null; error: string | null };
export type AttemptWords = { short: string; hint: string | null };

const BY_CLASS: Record<string, AttemptWords> = {
  timeout: {
    short: "No answer in time",
    hint: "Your server has 15 seconds. Answer first, and do the work afterwards.",
  },
  connection: { short: "Could not connect", hint: "Check that your server runs and that its port can be reached." },
  dns: { short: "Host not found", hint: "The name in the address does not resolve. Check its spelling and its DNS." },
  tls: {
    short: "Certificate refused",
    hint: "The certificate does not verify: expired, for another name, or without its chain.",
  },
  address: {
    short: "Address not allowed",
    hint: "The host leads to an address that is not public. Use one that can be reached from the internet.",
  },
  redirect: {
    short: "Answered with a redirect",
    hint: "Redirects are not followed. Register the address that it leads to.",
  },
  too_large: { short: "Answer too large", hint: "More than 64 KiB came back. An empty answer is enough." },
};

/** What an attempt came to in a few words, and what to do where it failed. */
export function attemptWords({ statusCode, error }: Outcome): AttemptWords {
  const known = error === null ? undefined : BY_CLASS[error];
  if (known !== undefined) return { ...known, short: withStatus(known.short, statusCode) };
  if (statusCode === null) return { short: error ?? "Not sent yet", hint: null };
  return { short: `Answered ${statusCode}`, hint: error === null ? null : hintFor(statusCode) };
}

const withStatus = (short: string, statusCode: number | null): string =>
  statusCode === null ? short : `${short} (${statusCode})`;

function hintFor(statusCode: number): string | null {
  if (statusCode === 401 || statusCode === 403) {
    return "Your server refused it. Check that it has this endpoint's secret, and that it verifies the raw body.";
  }
  if (statusCode === 404 || statusCode === 405)
    return "Your server takes no POST there. Check the path of the address.";
  if (statusCode === 410) return "410 says that nobody lives there any more: the endpoint is disabled.";
  if (statusCode === 429 || statusCode === 503) return "Your server asked for a pause. Its Retry-After is kept to.";
  if (statusCode >= 500) return "Your server failed. Its own log says why.";
  return "Only an answer from 200 to 299 counts as delivered.";
}
