import type { Complaint } from "./check-input.ts";

/** Larger data URLs are refused, as the provider does; bigger files need a URL or the files API. */
export const maxDataUrlBytes = 256 * 1024;

/** What is wrong with the address of a file; null when nothing is. */
export function checkFile(value: string): Complaint | null {
  if (value.startsWith("data:")) {
    const bytes = Math.floor((value.length - value.indexOf(",") - 1) * 0.75);
    if (bytes <= maxDataUrlBytes) return null;
    return { type: "data_uri_size", description: `Data URI of ${bytes} bytes is larger than ${maxDataUrlBytes} bytes` };
  }
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return null;
  return { type: "format", description: "Does not match format 'uri'" };
}
