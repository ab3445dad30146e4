import { Progress, SegmentedControl, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import type { Step, Usage } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/status-words.ts";
import { exactTime } from "../ui/format-time.ts";
import { dollars, monthWords, openOf } from "../ui/money.ts";
import { PageHead, Panel, Unread } from "../ui/page-parts.tsx";
import { useUsage } from "./use-usage.ts";

const GROUPS = [
  { value: "day", label: "Day" },
  { value: "step", label: "Step" },
  { value: "model", label: "Model" },
] as const;

export function Component() {
  const [groupBy, setGroupBy] = useState<(typeof GROUPS)[number]["value"]>("day");
  const usage = useUsage(groupBy);
  return (
    <>
      <PageHead title="Usage" text="What your runs cost this month. Days are those of UTC." />
      <Unread query={usage} what="the usage" heights={[400]} />
      {usage.data !== undefined && (
        <Panel
          title={`This month ${monthWords(usage.data)}`}
          actions={<SegmentedControl aria-label="Sums by" data={[...GROUPS]} value={groupBy} onChange={setGroupBy} />}
        >
          <Stack>
            {usage.data.budgets.map((budget) => (
              <Budget key={budget.period} {...budget} />
            ))}
            {usage.data.budgets.length === 0 && <Text size="sm">You have no budget of your own.</Text>}
            {usage.data.groups.length === 0 ? <Text c="dimmed">No runs this month.</Text> : <Sums usage={usage.data} />}
            <Text size="sm" c="dimmed">
              Open: runs that have not ended, or of which the provider's bill is unknown. They count with the most that
              they can cost. The provider's invoice decides.
            </Text>
          </Stack>
        </Panel>
      )}
    </>
  );
}

function Budget({ period, limitMicros, availableMicros, resetsAt }: Usage["budgets"][number]) {
  const used = limitMicros === 0 ? 100 : 100 - (100 * availableMicros) / limitMicros;
  const name = period === "day" ? "today" : "this month";
  return (
    <div>
      <Text size="sm" mb={6}>
        Your budget for {name} has {dollars(availableMicros)} of {dollars(limitMicros)} left. It begins anew on{" "}
        {exactTime(resetsAt)}.
      </Text>
      <Progress
        value={used}
        {...(availableMicros === 0 && { color: "red.8" })}
        aria-label={`Budget for ${name}, used`}
      />
    </div>
  );
}

/** A table whose rows have a bar. */
function Sums({ usage: { groupBy, groups } }: { usage: Usage }) {
  const total = { key: "Total", predictions: 0, settledMicros: 0, heldMicros: 0, unknownMicros: 0 };
  for (const group of groups) {
    total.predictions += group.predictions;
    total.settledMicros += group.settledMicros;
    total.heldMicros += openOf(group);
  }
  const most = Math.max(1, ...groups.map((row) => row.settledMicros + openOf(row)));
  const figures = (row: typeof total) => [row.predictions, dollars(row.settledMicros), dollars(openOf(row))];
  const body = groups.map((row) => [
    <div key={row.key}>
      {nameOf(groupBy, row.key)}
      <Progress.Root size="sm" bg="transparent" aria-hidden>
        <Progress.Section value={(100 * row.settledMicros) / most} />
        <Progress.Section value={(100 * openOf(row)) / most} color="iris.2" />
      </Progress.Root>
    </div>,
    ...figures(row),
  ]);
  const head = [GROUPS.find(({ value }) => value === groupBy)?.label, "Runs", "Cost", "Open, at most"];
  const rows = groupBy === "day" ? body.toReversed() : body;
  return <Table tabularNums horizontalSpacing={6} data={{ head, body: rows, foot: ["Total", ...figures(total)] }} />;
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

const nameOf = (groupBy: Usage["groupBy"], key: string): string =>
  groupBy === "day" ? DAY.format(new Date(key)) : groupBy === "step" ? STEP_NAME[key as Step] : key; // the keys are steps
