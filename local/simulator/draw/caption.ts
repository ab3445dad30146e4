import { GlobalFonts, type SKRSContext2D } from "@napi-rs/canvas";

const preferred = ["Inter", "Helvetica Neue", "Segoe UI", "Noto Sans", "DejaVu Sans", "Liberation Sans", "Arial"];

/** A font of this machine to write with, or null where there is none at all: then pictures simply carry no text. */
function findFont(): string | null {
  const families = GlobalFonts.families.map(({ family }) => family);
  return preferred.find((family) => families.includes(family)) ?? families[0] ?? null;
}

const font = findFont();

/** Writes `text` (at most two lines) over a soft shade at the foot of the picture. */
export function paintCaption(ctx: SKRSContext2D, width: number, height: number, text: string): void {
  if (!font || text === "") return;
  const size = Math.round(height / 24);
  const margin = Math.round(height / 18);
  ctx.font = `500 ${size}px "${font}"`;
  const lines = wrap(ctx, text, width - margin * 2);
  const tall = size * 1.35 * lines.length;

  const shade = ctx.createLinearGradient(0, height - tall - margin * 2.2, 0, height);
  shade.addColorStop(0, "rgba(0, 0, 0, 0)");
  shade.addColorStop(1, "rgba(0, 0, 0, 0.6)");
  ctx.fillStyle = shade;
  ctx.fillRect(0, height - tall - margin * 2.2, width, tall + margin * 2.2);

  ctx.fillStyle = "rgba(255, 255, 255, 0.94)";
  ctx.textBaseline = "bottom";
  for (const [i, line] of lines.entries()) {
    ctx.fillText(line, margin, height - margin * 0.8 - (lines.length - 1 - i) * size * 1.35);
  }
}

function wrap(ctx: SKRSContext2D, text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.slice(0, 240).split(/\s+/)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && ctx.measureText(longer).width > width) {
      lines.push(line);
      line = word;
    } else line = longer;
    if (lines.length === 2) return [lines[0] ?? "", `${lines[1]} …`];
  }
  return [...lines, line];
}
