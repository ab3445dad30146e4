import {
  ActionIcon,
  Alert,
  Box,
  Burger,
  Container,
  Group,
  type MantineColorScheme,
  Menu,
  NavLink as MantineNavLink,
  Text,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useNetwork } from "@mantine/hooks";
import { type Query, skipToken, useIsFetching, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect, useRef } from "react";
import { Link, NavigationType, Outlet, useLocation, useNavigationType } from "react-router";
import { KeyframeError, type Project } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { useSession } from "../session/use-session.ts";
import { Brand } from "../ui/Brand.tsx";
import {
  IconChartBar,
  IconCloudOff,
  IconDeviceDesktop,
  IconKey,
  IconLogout,
  IconMoon,
  IconMovie,
  IconPhoto,
  IconSun,
  IconUser,
  IconUsers,
  IconWebhook,
} from "../ui/icons.tsx";
import { dollars, monthWords } from "../ui/money.ts";
import { useUsage } from "../usage/use-usage.ts";
import { CrashBoundary } from "./CrashBoundary.tsx";
import classes from "./layout.module.css";
import { isPassing, projectKey } from "../queries/query-client.ts";

/** Header, navigation and page. On a phone the navigation is behind the burger. */
export function Layout() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  const isBack = useNavigationType() === NavigationType.Pop;
  const main = useRef<HTMLElement>(null);
  const shown = useRef(pathname);

  // Screen readers and keyboards start at the top of the new page.
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    close();
    if (!isBack) window.scrollTo(0, 0); // the browser returns to where the page was
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) main.current?.focus();
  }, [pathname, isBack, close]);

  return (
    <>
      <button type="button" className="skip-link" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header className={classes.header}>
        <Container size="lg" h="100%">
          <Group h="100%" justify="space-between" wrap="nowrap">
            <Group gap="lg" wrap="nowrap">
              <Burger
                opened={isOpen}
                onClick={toggle}
                hiddenFrom="md"
                size="sm"
                aria-expanded={isOpen}
                aria-label={isOpen ? "Close navigation" : "Open navigation"}
              />
              <Link to="/projects" aria-label="Keyframe, projects" style={{ color: "inherit", textDecoration: "none" }}>
                <Brand />
              </Link>
              <Group component="nav" aria-label="Pages" gap={4} visibleFrom="md" wrap="nowrap">
                <Navigation />
              </Group>
            </Group>
            <PersonMenu />
          </Group>
        </Container>
      </header>
      {isOpen && ( // when closed, Tab must not reach its links
        <Box component="nav" className={classes.menu} p="md" aria-label="Pages" hiddenFrom="md">
          <Navigation />
        </Box>
      )}
      <main ref={main} tabIndex={-1} className={classes.main}>
        <Container size="lg" py="lg">
          <ServiceBanner />
          <CrashBoundary key={pathname}>
            <Suspense>
              <Outlet />
            </Suspense>
          </CrashBoundary>
        </Container>
      </main>
    </>
  );
}

const PAGES = [
  { to: "/projects", label: "Projects", Icon: IconPhoto },
  { to: "/films", label: "Films", Icon: IconMovie },
  { to: "/elements", label: "Elements", Icon: IconUsers },
  { to: "/webhooks", label: "Webhooks", Icon: IconWebhook },
  { to: "/keys", label: "Keys", Icon: IconKey },
  { to: "/usage", label: "Usage", Icon: IconChartBar },
];

function Navigation() {
  const { pathname } = useLocation();
  const projectId = /^\/projects\/([^/]+)/.exec(pathname)?.[1] ?? "";
  // Not read here: the project's page reads it.
  const project = useQuery<Project>({ queryKey: projectKey(projectId), queryFn: skipToken }).data;
  return PAGES.map(({ to, label, Icon }) => {
    const ofProject = project && (project.filmId === null ? "/projects" : "/films");
    const isHere = projectId === "" ? pathname === to || pathname.startsWith(`${to}/`) : to === ofProject;
    return (
      <MantineNavLink
        key={to}
        component={Link}
        to={to}
        label={label}
        active={isHere}
        aria-current={isHere ? "page" : undefined}
        leftSection={<Icon size={18} stroke={1.6} />}
        style={{ borderRadius: "var(--mantine-radius-md)" }}
      />
    );
  });
}

const SCHEMES = [
  { scheme: "light", label: "Light", Icon: IconSun },
  { scheme: "dark", label: "Dark", Icon: IconMoon },
  { scheme: "auto", label: "System", Icon: IconDeviceDesktop },
] as const;

/** Account menu: email, this month's sum, colour scheme, sign out, version. Inside the header, so that it belongs to a landmark. */
function PersonMenu() {
  const { session, signOut } = useSession();
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
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
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

/** This month's sum and the balance, read when the menu opens. */
function ThisMonth() {
  const { data } = useUsage("day");
  return (
    <Menu.Item component={Link} to="/usage" leftSection={<IconChartBar size={16} />}>
      This month {data && monthWords(data)}
      {data?.balance && `, balance ${dollars(data.balance.availableMicros)}`}
    </Menu.Item>
  );
}

/** The version that the database has installed, read when the menu opens. */
function Version() {
  const { callPlatform } = useServices();
  const { data } = useQuery({
    queryKey: ["installed-version"],
    queryFn: async ({ signal }) => {
      const answer = await callPlatform("/functions/v1/api/health", { signal });
      return (answer as { data: { schemaVersion?: string } }).data.schemaVersion ?? ""; // functions may be older than the page
    },
    retry: false, // the banner shows that the service is down
  });
  return <>Keyframe {data}</>;
}

/** Shown while data may be out of date. Lies over the page, so that nothing moves when it appears. */
function ServiceBanner() {
  const { online } = useNetwork();
  const failure = useFailure();
  return (
    // Always rendered: screen readers announce changes only of an existing live region.
    <Box role="status" pos="fixed" left={16} right={16} bottom={16} style={{ zIndex: 300, pointerEvents: "none" }}>
      {(!online || failure !== null) && (
        <Alert color="yellow" variant="filled" w="fit-content" maw="44rem" mx="auto" bdrs="md" icon={<IconCloudOff />}>
          {online ? sentenceOf(failure) : "You are offline. This page may be out of date."}
        </Alert>
      )}
    </Box>
  );
}

const sentenceOf = (failure: Error | null) =>
  failure instanceof KeyframeError && failure.code === "schema_outdated"
    ? failure.message
    : "Cannot reach the service. Retrying; this page may be out of date.";

/** Why a query on this page is retrying; null when none is. */
function useFailure(): Error | null {
  const cache = useQueryClient().getQueryCache();
  const predicate = ({ state }: Query) => isPassing(state.fetchFailureReason);
  useIsFetching({ predicate }); // renders again when their number changes
  return cache.findAll({ fetchStatus: "fetching", predicate })[0]?.state.fetchFailureReason ?? null;
}
