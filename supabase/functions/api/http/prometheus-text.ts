/** One metric: its name, what it means, and its samples. A sample whose value is null (unknown) is left out. */
export type Metric = { name: string; help: string; samples: Sample[] };
export type Sample = { labels?: Record<string, string>; value: number | null };

/**
 * Gauges in the text format of Prometheus, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats
 * Throws for an invalid name or label, which is a bug.
 */
export const prometheusText = (metrics: Metric[]): string => metrics.map(metricText).join("");

function metricText({ name, help, samples }: Metric): string {
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new Error(`${name} is not a metric name.`);
  const lines = samples.flatMap(({ labels = {}, value }) =>
    value === null ? [] : [`${name}${labelsText(labels)} ${numberText(value)}`],
  );
  if (lines.length === 0) return "";
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} gauge`, ...lines, ""].join("\n");
}

function labelsText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) throw new Error(`${name} is not a label name.`);
    return `${name}="${escapeHelp(value).replaceAll('"', '\\"')}"`;
  });
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

/** In the syntax of Go, which Prometheus uses. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return String(value);
}
