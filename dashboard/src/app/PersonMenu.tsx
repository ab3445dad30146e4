import { ActionIcon, type MantineColorScheme, Menu, Text, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { useSavePlans } from "../queries/plan-edits.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useServices } from "../services.ts";
import { useSession } from "../session/use-session.ts";
import { IconChartBar, IconDeviceDesktop, IconLogout, IconMoon, IconSun, IconUser } from "../ui/Icons.tsx";
import { dollars, monthWords } from "../ui/money.ts";
import { notifyError } from "../ui/Notices.tsx";
import { useUsage } from "../usage/use-usage.ts";

const SCHEMES = [
  { scheme: "light", label: "Light", Icon: IconSun },
  { scheme: "dark", label: "Dark", Icon: IconMoon },
  { scheme: "auto", label: "System", Icon: IconDeviceDesktop },
] as const;

/** The menu is inside the header, so that it belongs to a landmark. */
export function PersonMenu() {
  const { session, signOut } = useSession();
  const savePlans = useSavePlans();
  /** Settings that cannot be saved are lost: nothing of a user stays in the browser. */
  const leave = () =>
    savePlans()
      .catch((error: unknown) => notifyError("Could not save the settings of a shot", error))
      .then(signOut);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end" width={270} withinPortal={false}>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" radius="xl" aria-label="Account and theme">
          <IconUser size={18} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="xs" truncate>
            {session?.user.email}
          </Text>
        </Menu.Label>
        <ThisMonth />
        <Menu.Divider />
        <Menu.RadioGroup
          value={colorScheme}
          onChange={(value) => setColorScheme(value as MantineColorScheme)} // one of SCHEMES
        >
          {SCHEMES.map(({ scheme, label, Icon }) => (
            <Menu.RadioItem key={scheme} value={scheme} rightSection={<Icon size={16} />}>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void leave()}>
          Sign out
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>
          <Version />
        </Menu.Label>
      </Menu.Dropdown>
    </Menu>
  );
}

function ThisMonth() {
  const { data } = useUsage("day");
  return (
    <Menu.Item component={Link} to="/usage" leftSection={<IconChartBar size={16} />}>
      This month {data && monthWords(data)}
      {data?.balance && `, balance ${dollars(data.balance.availableMicros)}`}
    </Menu.Item>
  );
}

function Version() {
  const { callPlatform } = useServices();
  const { data } = useQuery({
    queryKey: queryKeys.installedVersion,
    queryFn: async ({ signal }) => {
      const answer = await callPlatform("/functions/v1/api/health", { signal });
      return (answer as { data: { schemaVersion?: string } }).data.schemaVersion ?? ""; // functions may be older than the page
    },
    retry: false, // the banner shows that the service is down
  });
  return <>Keyframe {data}</>;
}
