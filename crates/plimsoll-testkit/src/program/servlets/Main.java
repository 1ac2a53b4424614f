import java.io.File;
import java.io.IOException;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Tomcat and Jetty, each once as it comes and once as lenient as it can be, with a page and an admin's. */
public class Main {
    static class TomcatPage extends jakarta.servlet.http.HttpServlet {
        private final String name;

        TomcatPage(String name) {
            this.name = name;
        }

        @Override
        protected void service(
                jakarta.servlet.http.HttpServletRequest request, jakarta.servlet.http.HttpServletResponse response)
                throws IOException {
            response.getWriter().print(text(name, request.getServletPath(), request.getPathInfo()));
        }
    }

    static class JettyPage extends javax.servlet.http.HttpServlet {
        private final String name;

        JettyPage(String name) {
            this.name = name;
        }

        @Override
        protected void service(
                javax.servlet.http.HttpServletRequest request, javax.servlet.http.HttpServletResponse response)
                throws IOException {
            response.getWriter().print(text(name, request.getServletPath(), request.getPathInfo()));
        }
    }

    static String text(String name, String path, String rest) {
        return "the " + name + " is at " + path + (rest == null ? "" : rest) + "\n";
    }

    static Connector connector(String port, boolean lenient) {
        Connector connector = new Connector();
        connector.setProperty("address", "127.0.0.1");
        connector.setPort(Integer.parseInt(port));
        if (lenient) {
            connector.setAllowBackslash(true);
            connector.setEncodedSolidusHandling("decode");
            connector.setEncodedReverseSolidusHandling("decode");
            connector.setProperty("relaxedPathChars", "\"<>[\\]^`{|}");
        }
        return connector;
    }

    static void tomcat(String strict, String lenient) throws Exception {
        Tomcat tomcat = new Tomcat();
        String folder = new File(".").getAbsolutePath();
        tomcat.setBaseDir(folder);
        tomcat.setConnector(connector(strict, false));
        tomcat.setConnector(connector(lenient, true));
        Context context = tomcat.addContext("", folder);
        Tomcat.addServlet(context, "page", new TomcatPage("page"));
        Tomcat.addServlet(context, "admin", new TomcatPage("admin"));
        context.addServletMappingDecoded("/", "page");
        context.addServletMappingDecoded("/admin/*", "admin");
        tomcat.start();
    }

    static void jetty(String strict, String lenient) throws Exception {
        Server server = new Server();
        for (String port : new String[] {strict, lenient}) {
            HttpConfiguration configuration = new HttpConfiguration();
            HttpCompliance compliance = port == strict ? HttpCompliance.RFC7230 : HttpCompliance.LEGACY;
            ServerConnector connector =
                    new ServerConnector(server, 1, 1, new HttpConnectionFactory(configuration, compliance));
            connector.setHost("127.0.0.1");
            connector.setPort(Integer.parseInt(port));
            server.addConnector(connector);
        }
        ServletContextHandler context = new ServletContextHandler();
        context.setContextPath("/");
        context.addServlet(new ServletHolder(new JettyPage("page")), "/");
        context.addServlet(new ServletHolder(new JettyPage("admin")), "/admin/*");
        server.setHandler(context);
        server.start();
    }

    public static void main(String[] ports) throws Exception {
        tomcat(ports[0], ports[1]);
        jetty(ports[2], ports[3]);
        System.out.println("all four listen");
    }
}
