//! JMeter's elements by their classes: what people call them, and what becomes of them.

use super::reasons::Reason;
use super::tree::Element;

/// What the import does with elements of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It becomes part of the plan, or says itself what of it is lost.
    Read,
    /// It has no effect on requests.
    Quiet,
    /// It is lost; the index is that of its reason.
    Lost(Reason),
    Unknown,
}

/// Class, name in JMeter's menus, and what becomes of it.
const CLASSES: &[(&str, &str, Fate)] = &[
    ("TestPlan", "Test Plan", Fate::Read),
    ("ThreadGroup", "Thread Group", Fate::Read),
    ("SetupThreadGroup", "setUp Thread Group", Fate::Read),
    ("PostThreadGroup", "tearDown Thread Group", Fate::Read),
    (
        "UltimateThreadGroup",
        "jp@gc - Ultimate Thread Group",
        Fate::Read,
    ),
    (
        "SteppingThreadGroup",
        "jp@gc - Stepping Thread Group",
        Fate::Read,
    ),
    (
        "ConcurrencyThreadGroup",
        "bzm - Concurrency Thread Group",
        Fate::Read,
    ),
    (
        "ArrivalsThreadGroup",
        "bzm - Arrivals Thread Group",
        Fate::Read,
    ),
    (
        "FreeFormArrivalsThreadGroup",
        "bzm - Free-Form Arrivals Thread Group",
        Fate::Read,
    ),
    (
        "OpenModelThreadGroup",
        "Open Model Thread Group",
        Fate::Read,
    ),
    ("TestFragmentController", "Test Fragment", Fate::Read),
    ("Arguments", "User Defined Variables", Fate::Read),
    ("HTTPSamplerProxy", "HTTP Request", Fate::Read),
    ("HTTPSampler", "HTTP Request", Fate::Read),
    ("HTTPSampler2", "HTTP Request", Fate::Read),
    ("HeaderManager", "HTTP Header Manager", Fate::Read),
    ("CookieManager", "HTTP Cookie Manager", Fate::Read),
    ("CacheManager", "HTTP Cache Manager", Fate::Read),
    ("AuthManager", "HTTP Authorization Manager", Fate::Read),
    ("CSVDataSet", "CSV Data Set Config", Fate::Read),
    (
        "RandomCSVDataSetConfig",
        "bzm - Random CSV Data Set",
        Fate::Read,
    ),
    ("CounterConfig", "Counter", Fate::Read),
    ("RandomVariableConfig", "Random Variable", Fate::Read),
    ("UserParameters", "User Parameters", Fate::Read),
    ("ConstantTimer", "Constant Timer", Fate::Read),
    ("UniformRandomTimer", "Uniform Random Timer", Fate::Read),
    ("GaussianRandomTimer", "Gaussian Random Timer", Fate::Read),
    ("PoissonRandomTimer", "Poisson Random Timer", Fate::Read),
    (
        "ConstantThroughputTimer",
        "Constant Throughput Timer",
        Fate::Read,
    ),
    (
        "PreciseThroughputTimer",
        "Precise Throughput Timer",
        Fate::Read,
    ),
    ("TestAction", "Flow Control Action", Fate::Read),
    ("LoopController", "Loop Controller", Fate::Read),
    ("IfController", "If Controller", Fate::Read),
    ("OnceOnlyController", "Once Only Controller", Fate::Read),
    (
        "TransactionController",
        "Transaction Controller",
        Fate::Read,
    ),
    ("ThroughputController", "Throughput Controller", Fate::Read),
    ("RandomController", "Random Controller", Fate::Read),
    (
        "RandomOrderController",
        "Random Order Controller",
        Fate::Read,
    ),
    ("InterleaveControl", "Interleave Controller", Fate::Read),
    ("WhileController", "While Controller", Fate::Read),
    ("SwitchController", "Switch Controller", Fate::Read),
    ("ForeachController", "ForEach Controller", Fate::Read),
    ("RunTime", "Runtime Controller", Fate::Read),
    ("IncludeController", "Include Controller", Fate::Read),
    ("ModuleController", "Module Controller", Fate::Read),
    ("GenericController", "Simple Controller", Fate::Read),
    (
        "CriticalSectionController",
        "Critical Section Controller",
        Fate::Read,
    ),
    ("RecordingController", "Recording Controller", Fate::Read),
    ("ParallelSampler", "bzm - Parallel Controller", Fate::Read),
    (
        "WeightedSwitchController",
        "bzm - Weighted Switch Controller",
        Fate::Read,
    ),
    ("RegexExtractor", "Regular Expression Extractor", Fate::Read),
    ("BoundaryExtractor", "Boundary Extractor", Fate::Read),
    ("JSONPostProcessor", "JSON Extractor", Fate::Read),
    (
        "JSONPathExtractor",
        "jp@gc - JSON Path Extractor",
        Fate::Read,
    ),
    ("JMESPathExtractor", "JSON JMESPath Extractor", Fate::Read),
    ("HtmlExtractor", "CSS Selector Extractor", Fate::Read),
    ("XPathExtractor", "XPath Extractor", Fate::Read),
    ("XPath2Extractor", "XPath2 Extractor", Fate::Read),
    ("ResponseAssertion", "Response Assertion", Fate::Read),
    ("DurationAssertion", "Duration Assertion", Fate::Read),
    ("JSONPathAssertion", "JSON Assertion", Fate::Read),
    ("JMESPathAssertion", "JSON JMESPath Assertion", Fate::Read),
    ("ResultCollector", "Listener", Fate::Quiet),
    ("CorrectedResultCollector", "Listener", Fate::Quiet),
    ("Summariser", "Generate Summary Results", Fate::Quiet),
    ("ResultSaver", "Save Responses to a file", Fate::Quiet),
    ("MailerResultCollector", "Mailer Visualizer", Fate::Quiet),
    (
        "PerfMonCollector",
        "jp@gc - PerfMon Metrics Collector",
        Fate::Quiet,
    ),
    (
        "FlexibleFileWriter",
        "jp@gc - Flexible File Writer",
        Fate::Quiet,
    ),
    (
        "ConsoleStatusLogger",
        "jp@gc - Console Status Logger",
        Fate::Quiet,
    ),
    ("DebugSampler", "Debug Sampler", Fate::Quiet),
    ("DebugPostProcessor", "Debug PostProcessor", Fate::Quiet),
    ("ProxyControl", "HTTP(S) Test Script Recorder", Fate::Quiet),
    (
        "RecordController",
        "HTTP(S) Test Script Recorder",
        Fate::Quiet,
    ),
    ("WorkBench", "WorkBench", Fate::Quiet),
    ("MirrorServerControl", "HTTP Mirror Server", Fate::Quiet),
    ("HttpMirrorControl", "HTTP Mirror Server", Fate::Quiet),
    ("PropertyControl", "Property Display", Fate::Quiet),
    (
        "BackendListener",
        "Backend Listener",
        Fate::Lost(Reason::Metrics),
    ),
    (
        "AsyncBackendListener",
        "Backend Listener",
        Fate::Lost(Reason::Metrics),
    ),
    (
        "LoadosophiaUploader",
        "jp@gc - BlazeMeter Uploader",
        Fate::Lost(Reason::Metrics),
    ),
    (
        "JSR223Sampler",
        "JSR223 Sampler",
        Fate::Lost(Reason::Script),
    ),
    (
        "JSR223PreProcessor",
        "JSR223 PreProcessor",
        Fate::Lost(Reason::Script),
    ),
    (
        "JSR223PostProcessor",
        "JSR223 PostProcessor",
        Fate::Lost(Reason::Script),
    ),
    (
        "JSR223Assertion",
        "JSR223 Assertion",
        Fate::Lost(Reason::Script),
    ),
    (
        "JSR223Listener",
        "JSR223 Listener",
        Fate::Lost(Reason::Script),
    ),
    ("JSR223Timer", "JSR223 Timer", Fate::Lost(Reason::Script)),
    (
        "BeanShellSampler",
        "BeanShell Sampler",
        Fate::Lost(Reason::Script),
    ),
    (
        "BeanShellPreProcessor",
        "BeanShell PreProcessor",
        Fate::Lost(Reason::Script),
    ),
    (
        "BeanShellPostProcessor",
        "BeanShell PostProcessor",
        Fate::Lost(Reason::Script),
    ),
    (
        "BeanShellAssertion",
        "BeanShell Assertion",
        Fate::Lost(Reason::Script),
    ),
    (
        "BeanShellListener",
        "BeanShell Listener",
        Fate::Lost(Reason::Script),
    ),
    (
        "BeanShellTimer",
        "BeanShell Timer",
        Fate::Lost(Reason::Script),
    ),
    ("BSFSampler", "BSF Sampler", Fate::Lost(Reason::Script)),
    (
        "BSFPreProcessor",
        "BSF PreProcessor",
        Fate::Lost(Reason::Script),
    ),
    (
        "BSFPostProcessor",
        "BSF PostProcessor",
        Fate::Lost(Reason::Script),
    ),
    ("BSFAssertion", "BSF Assertion", Fate::Lost(Reason::Script)),
    ("BSFTimer", "BSF Timer", Fate::Lost(Reason::Script)),
    ("JavaSampler", "Java Request", Fate::Lost(Reason::Script)),
    ("JUnitSampler", "JUnit Request", Fate::Lost(Reason::Script)),
    (
        "SystemSampler",
        "OS Process Sampler",
        Fate::Lost(Reason::Script),
    ),
    (
        "DummySampler",
        "jp@gc - Dummy Sampler",
        Fate::Lost(Reason::Script),
    ),
    (
        "AjpSampler",
        "AJP/1.3 Sampler",
        Fate::Lost(Reason::Protocol),
    ),
    ("FTPSampler", "FTP Request", Fate::Lost(Reason::Protocol)),
    ("JDBCSampler", "JDBC Request", Fate::Lost(Reason::Protocol)),
    (
        "JMSSampler",
        "JMS Point-to-Point",
        Fate::Lost(Reason::Protocol),
    ),
    (
        "PublisherSampler",
        "JMS Publisher",
        Fate::Lost(Reason::Protocol),
    ),
    (
        "SubscriberSampler",
        "JMS Subscriber",
        Fate::Lost(Reason::Protocol),
    ),
    ("TCPSampler", "TCP Sampler", Fate::Lost(Reason::Protocol)),
    ("LDAPSampler", "LDAP Request", Fate::Lost(Reason::Protocol)),
    (
        "LDAPExtSampler",
        "LDAP Extended Request",
        Fate::Lost(Reason::Protocol),
    ),
    ("SmtpSampler", "SMTP Sampler", Fate::Lost(Reason::Protocol)),
    (
        "MailReaderSampler",
        "Mail Reader Sampler",
        Fate::Lost(Reason::Protocol),
    ),
    (
        "MongoScriptSampler",
        "MongoDB Script",
        Fate::Lost(Reason::Protocol),
    ),
    ("BoltSampler", "Bolt Request", Fate::Lost(Reason::Protocol)),
    (
        "AccessLogSampler",
        "Access Log Sampler",
        Fate::Lost(Reason::Protocol),
    ),
    (
        "SoapSampler",
        "SOAP/XML-RPC Request",
        Fate::Lost(Reason::Protocol),
    ),
    (
        "WebServiceSampler",
        "WebService (SOAP) Request",
        Fate::Lost(Reason::Protocol),
    ),
    (
        "WebSocketSampler",
        "WebSocket Sampler",
        Fate::Lost(Reason::WebSocket),
    ),
    (
        "OpenWebSocketSampler",
        "WebSocket Open Connection",
        Fate::Lost(Reason::WebSocket),
    ),
    (
        "RequestResponseWebSocketSampler",
        "WebSocket request-response Sampler",
        Fate::Lost(Reason::WebSocket),
    ),
    (
        "SingleReadWebSocketSampler",
        "WebSocket Single Read Sampler",
        Fate::Lost(Reason::WebSocket),
    ),
    (
        "SingleWriteWebSocketSampler",
        "WebSocket Single Write Sampler",
        Fate::Lost(Reason::WebSocket),
    ),
    (
        "CloseWebSocketSampler",
        "WebSocket Close",
        Fate::Lost(Reason::WebSocket),
    ),
    (
        "PingPongWebSocketSampler",
        "WebSocket Ping/Pong",
        Fate::Lost(Reason::WebSocket),
    ),
    (
        "SyncTimer",
        "Synchronizing Timer",
        Fate::Lost(Reason::Rendezvous),
    ),
    (
        "Barrier",
        "Synchronizing Timer",
        Fate::Lost(Reason::Rendezvous),
    ),
    (
        "VariableThroughputTimer",
        "jp@gc - Throughput Shaping Timer",
        Fate::Lost(Reason::Pace),
    ),
    (
        "KeystoreConfig",
        "Keystore Configuration",
        Fate::Lost(Reason::Certificate),
    ),
    (
        "DNSCacheManager",
        "DNS Cache Manager",
        Fate::Lost(Reason::Resolver),
    ),
    (
        "DataSourceElement",
        "JDBC Connection Configuration",
        Fate::Lost(Reason::Database),
    ),
    (
        "JDBCPreProcessor",
        "JDBC PreProcessor",
        Fate::Lost(Reason::Database),
    ),
    (
        "JDBCPostProcessor",
        "JDBC PostProcessor",
        Fate::Lost(Reason::Database),
    ),
    (
        "AnchorModifier",
        "HTML Link Parser",
        Fate::Lost(Reason::Links),
    ),
    (
        "URLRewritingModifier",
        "HTTP URL Re-writing Modifier",
        Fate::Lost(Reason::Links),
    ),
    (
        "RegExUserParameters",
        "RegEx User Parameters",
        Fate::Lost(Reason::Links),
    ),
    (
        "SampleTimeout",
        "Sample Timeout",
        Fate::Lost(Reason::OnFailure),
    ),
    (
        "ResultAction",
        "Result Status Action Handler",
        Fate::Lost(Reason::OnFailure),
    ),
    (
        "AutoStop",
        "jp@gc - AutoStop Listener",
        Fate::Lost(Reason::OnFailure),
    ),
    ("SizeAssertion", "Size Assertion", Fate::Lost(Reason::Size)),
    (
        "XPathAssertion",
        "XPath Assertion",
        Fate::Lost(Reason::Markup),
    ),
    (
        "XPath2Assertion",
        "XPath2 Assertion",
        Fate::Lost(Reason::Markup),
    ),
    ("XMLAssertion", "XML Assertion", Fate::Lost(Reason::Markup)),
    (
        "XMLSchemaAssertion",
        "XML Schema Assertion",
        Fate::Lost(Reason::Markup),
    ),
    (
        "HTMLAssertion",
        "HTML Assertion",
        Fate::Lost(Reason::Markup),
    ),
    (
        "MD5HexAssertion",
        "MD5Hex Assertion",
        Fate::Lost(Reason::Digest),
    ),
    (
        "CompareAssertion",
        "Compare Assertion",
        Fate::Lost(Reason::Digest),
    ),
    (
        "SMIMEAssertionTestElement",
        "SMIME Assertion",
        Fate::Lost(Reason::Protocol),
    ),
];

/// What becomes of an element.
pub(super) fn fate(element: &Element) -> Fate {
    if element.class == "ConfigTestElement" {
        return if is_defaults(element) {
            Fate::Read
        } else {
            Fate::Lost(Reason::Protocol)
        };
    }
    let row = CLASSES.iter().find(|(class, ..)| *class == element.class);
    row.map_or_else(
        || {
            // Listeners of plug-ins have a class each.
            let is_listener = element.get("filename").is_some()
                && (element.class.ends_with("Collector") || element.class.ends_with("Visualizer"));
            if is_listener {
                Fate::Quiet
            } else {
                Fate::Unknown
            }
        },
        |(.., fate)| *fate,
    )
}

/// Whether it holds HTTP Request Defaults.
pub(super) fn is_defaults(element: &Element) -> bool {
    let is_http = element.gui == "HttpDefaultsGui"
        || element
            .properties()
            .iter()
            .any(|property| property.name.starts_with("HTTPSampler."));
    element.class == "ConfigTestElement" && is_http
}

/// The kind and the name of an element, as JMeter shows them.
pub(super) fn title(element: &Element) -> String {
    let kind = kind(element);
    if element.name.is_empty() || element.name == kind {
        return kind;
    }
    format!("{kind} \"{}\"", element.name)
}

fn kind(element: &Element) -> String {
    if is_defaults(element) {
        return "HTTP Request Defaults".to_owned();
    }
    let row = CLASSES.iter().find(|(class, ..)| *class == element.class);
    row.map_or_else(
        || element.class.clone(),
        |(_, title, _)| (*title).to_owned(),
    )
}

/// Whether it is an HTTP sampler.
pub(super) fn is_request(element: &Element) -> bool {
    matches!(
        element.class.as_str(),
        "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2"
    )
}

/// Whether it is a thread group of any kind.
pub(super) fn is_group(element: &Element) -> bool {
    element.class.ends_with("ThreadGroup")
}
