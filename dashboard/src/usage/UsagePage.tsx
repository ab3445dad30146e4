import { Group, NativeSelect, Progress, SegmentedControl, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import type { Step, Usage } from "../../../client/index.ts";
import { STEP_NAME } from "../takes/status-words.ts";
import { exactTime } from "../ui/format-time.ts";
import { balanceWords, dollars, monthWords, openOf, sumWords } from "../ui/money.ts";
import { CreditLink } from "../ui/Notices.tsx";
import { PageHead, Panel, Unread } from "../ui/PageParts.tsx";
import { useModelLabel } from "../queries/use-models.ts";
import { useTitles, useUsage } from "./use-usage.ts";

const GROUPS = [
  { value: "day", label: "Day" },
  { value: "step", label: "Step" },
  { value: "model", label: "Model" },
  { value: "project", label: "Project" },
] as const;

export default function UsagePage() {
  const [groupBy, setGroupBy] = useState<(typeof GROUPS)[number]["value"]>("day");
  const [months] = useState(latestMonths);
  const [month, setMonth] = useState("");
  const usage = useUsage(groupBy, month);
  return (
    <>
      <PageHead title="Usage" text="What your generations cost. Days are in UTC." />
      <Unread query={usage} what="the usage" heights={[400]} />
      {usage.data !== undefined && (
        <Panel
          title={
            month === ""
              ? `This month ${monthWords(usage.data)}`
              : `${MONTH.format(new Date(month))} ${sumWords(usage.data)}`
          }
          actions={
            <Group gap="xs">
              <NativeSelect
                aria-label="Month"
                data={months}
                value={month}
                onChange={({ currentTarget }) => setMonth(currentTarget.value)}
              />
              <SegmentedControl aria-label="Group by" data={[...GROUPS]} value={groupBy} onChange={setGroupBy} />
            </Group>
          }
        >
          <Stack>
            {month === "" && usage.data.balance !== null && (
              <Text size="sm">
                {balanceWords(usage.data.balance)} <CreditLink />
              </Text>
            )}
            {month === "" && usage.data.budgets.map((budget) => <Budget key={budget.period} {...budget} />)}
            {month === "" && usage.data.budgets.length === 0 && usage.data.balance === null && (
              <Text size="sm">You have no personal budget.</Text>
            )}
            {usage.data.groups.length === 0 ? (
              <Text c="dimmed">No takes in this month.</Text>
            ) : (
              <Sums usage={usage.data} />
            )}
            <Text size="sm" c="dimmed">
              Pending: still running, or final cost not known yet. We count the most they could cost.
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
        Your budget for {name} has {dollars(availableMicros)} of {dollars(limitMicros)} left. It resets on{" "}
        {exactTime(resetsAt)}.
      </Text>
      <Progress value={used} color={availableMicros === 0 ? "red.8" : "iris"} aria-label={`Budget for ${name}, used`} />
    </div>
  );
}

function Sums({ usage }: { usage: Usage }) {
  const { groupBy, groups } = usage;
  const nameOf = useNames(usage);
  const total = { key: "Total", predictions: 0, settledMicros: 0, heldMicros: 0, unknownMicros: 0 };
  for (const group of groups) {
    total.predictions += group.predictions;
    total.settledMicros += group.settledMicros;
    total.heldMicros += openOf(group);
  }
  const most = Math.max(1, ...groups.map((row) => row.settledMicros + openOf(row)));
  const figures = (row: typeof total) => [row.predictions, dollars(row.settledMicros), dollars(openOf(row))];
  const body = groups.slice(0, MAX_ROWS).map((row) => [
    <div key={row.key}>
      {nameOf(row.key)}
      <Progress.Root size="sm" bg="transparent" aria-hidden>
        <Progress.Section value={(100 * row.settledMicros) / most} />
        <Progress.Section value={(100 * openOf(row)) / most} color="iris.2" />
      </Progress.Root>
    </div>,
    ...figures(row),
  ]);
  const head = [GROUPS.find(({ value }) => value === groupBy)?.label, "Takes", "Cost", "Pending, at most"];
  const rows = groupBy === "day" ? body.toReversed() : body;
  return <Table tabularNums horizontalSpacing={6} data={{ head, body: rows, foot: ["Total", ...figures(total)] }} />;
}

/** The total includes the rows that are not shown. */
const MAX_ROWS = 100;

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const MONTH = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });

function latestMonths(): { value: string; label: string }[] {
  const now = new Date();
  return Array.from({ length: 12 }, (_, back) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back));
    return back === 0
      ? { value: "", label: "This month" }
      : { value: first.toISOString().slice(0, 7), label: MONTH.format(first) };
  });
}

function useNames(usage: Usage): (key: string) => string {
  const labelOf = useModelLabel();
  const titles = useTitles(usage);
  return {
    day: (key: string) => DAY.format(new Date(key)),
    step: (key: string) => STEP_NAME[key as Step], // the keys are steps
    model: labelOf,
    project: (key: string) => (titles === undefined ? "" : (titles.get(key) ?? `Deleted project ${key.slice(0, 8)}`)),
  }[usage.groupBy];
}
