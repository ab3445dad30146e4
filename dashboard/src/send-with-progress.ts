/** Told the fraction of the body that has gone out, from 0 to 1. */
export type OnUploaded = (fraction: number) => void;

/**
 * A fetch that says how far an upload is, which the browsers' own cannot. For requests whose answer is short text: it is read whole.
 * Rejects with a TypeError when no answer comes, and with the signal's reason when that aborts, as fetch does.
 */
export function sendWithProgress(onUploaded: OnUploaded): (url: string, init: RequestInit) => Promise<Response> {
  return (url, { method = "GET", headers, body, signal }) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const request = new XMLHttpRequest();
      request.open(method, url);
      for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => total > 0 && onUploaded(loaded / total);
      request.onload = () => {
        // It follows redirects unasked. The service sends none, so this is somebody else's answer.
        if (request.responseURL !== new URL(url, document.baseURI).href)
          return reject(new TypeError("It was redirected."));
        const { status, responseText } = request;
        resolve(new Response(status === 204 ? null : responseText, { status, headers: headersOf(request) }));
      };
      request.onerror = () => reject(new TypeError("It could not be sent."));
      const stop = () => {
        request.abort();
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
      request.onloadend = () => signal?.removeEventListener("abort", stop);
      // The client sends bytes and text alone, not the streams that only fetch takes.
      request.send((body ?? null) as XMLHttpRequestBodyInit | null);
    });
}

function headersOf(request: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().split("\r\n")) {
    const [, name, value] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) headers.append(name, value);
  }
  return headers;
}
